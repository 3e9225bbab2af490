.PHONY: help setup lab demo slides handout assignment mark progress test test-all testgpu oldest doctor record launchers kit new style normalise site links pictures publication lock clean
.DEFAULT_GOAL := help
PYTHON_HERE := .venv/bin/python
SITE_PATH := .:packages/notebook_ranks:packages/snapshots_and_traces:packages/training_diagnosis
# In a container one is often root, which JupyterLab wants to be told.
AS_ROOT := $(if $(filter 0,$(shell id -u)),--allow-root)

help:  ## what can be made here
	@grep -E '^[a-z-]+:.*##' Makefile | sed 's/:.*## /: /'

setup:  ## .venv with everything in it; does nothing when it is up to date
	@sh tools/setup.sh

lab: setup  ## JupyterLab at the map of the course (ARGS="--no-browser --port 9000")
	@echo "Opening JupyterLab in notebooks/ (stop it with Ctrl-C)"
	@cd notebooks && ../$(PYTHON_HERE) -m jupyterlab --LabApp.default_url=/lab/tree/00_index.ipynb \
		$(AS_ROOT) $(ARGS)

demo: setup  ## rehearse CHAPTER=02, then open it for a class (ARGS="--no-open", or JupyterLab's)
	@$(PYTHON_HERE) -m course_utils demo $(CHAPTER) $(AS_ROOT) $(ARGS)

FOR_CLASS = $(CHAPTER) $(if $(SYLLABUS),--syllabus $(SYLLABUS)) $(ARGS)

slides: setup  ## slides of CHAPTER=02 or SYLLABUS=half-day, in one file that needs no network (CODE=no)
	@$(PYTHON_HERE) -m course_utils slides $(FOR_CLASS) $(if $(filter no,$(CODE)),--no-code)

handout: setup  ## CHAPTER=02 or SYLLABUS=half-day without outputs, results collapsed (ARGS="--output FILE")
	@$(PYTHON_HERE) -m course_utils handout $(FOR_CLASS)

# Otter-Grader beside the reader's packages, which .venv-otter sees and never changes.
BOTH = import site, sys; site.addsitedir(sys.prefix + "/../.venv/lib/python%d.%d/site-packages" % sys.version_info[:2])
.venv/course-stamp: setup
	@:
.venv-otter/installed: requirements-otter.txt .venv/course-stamp
	@$(PYTHON_HERE) -m venv --clear .venv-otter
	@.venv-otter/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -r $<
	@for packages in .venv-otter/lib/python*/site-packages; do echo '$(BOTH)' >$$packages/reader.pth; done
	@touch $@

assignment: .venv-otter/installed  ## the exercises of CHAPTER=11 to hand out, and what marks them, in build/assignment/11
	@$(PYTHON_HERE) -m tools.assignment make $(CHAPTER)

mark: .venv-otter/installed  ## marks the notebooks of the folder FROM=handed_in, for CHAPTER=11; the points are a CSV file
	@$(PYTHON_HERE) -m tools.assignment mark $(CHAPTER) $(FROM)

progress: setup  ## what you ran and solved here (ARGS="--clear" forgets it)
	@$(PYTHON_HERE) -m course_utils progress $(ARGS)

test: setup  ## what every change must pass, with a report by chapter (CHAPTER=06: one; CHANGED=1: what changed)
	@CHAPTER=$(CHAPTER) CHANGED=$(CHANGED) $(PYTHON_HERE) -m tools.test $(ARGS)

test-all: setup  ## every test there is: before a release
	@$(PYTHON_HERE) -m tools.test --everything $(ARGS)

testgpu: setup  ## on a machine with a GPU: the claims of every chapter, outputs not compared
	@$(PYTHON_HERE) -m pytest -n 1 --dist loadscope --nbval-lax notebooks $(ARGS)

oldest: setup  ## every chapter on the oldest torch promised, in .venv-oldest, 5.6 GB (CHAPTER=09: one)
	@CHAPTER=$(CHAPTER) $(PYTHON_HERE) -m tools.oldest $(ARGS)

doctor: setup  ## what works on this machine, and what to do about the rest
	@$(PYTHON_HERE) -m course_utils doctor

record: setup  ## run the chapters here and keep what they measured (ARGS="02_async_execution")
	@$(PYTHON_HERE) -m course_utils record $(ARGS)

launchers: setup  ## chapter 16 with Slurm, Open MPI and a slow link, recorded (Debian, as root: it installs packages)
	@bash tools/launchers.sh $(ARGS)

kit: setup  ## what a machine with torch and no network needs to record (ARGS="--python 3.11")
	@$(PYTHON_HERE) -m tools.kit $(ARGS)

new: setup  ## a chapter's skeleton, run and tested (CHAPTER=03_profiling TITLE="Profiling", or REMOVE=1)
	@$(PYTHON_HERE) -m tools.new

style: setup  ## say what is wrong with a page's code, format its solutions (ARGS="03")
	@$(PYTHON_HERE) -m tools.notebook_style --format $(ARGS)

normalise: setup  ## run chapters and store their outputs (ARGS="02_async_execution")
	@$(PYTHON_HERE) -m course_utils normalise $(ARGS)

.venv-site/installed: requirements-site.txt
	@$(or $(PYTHON),python3) -m venv --clear .venv-site
	@.venv-site/bin/python -m pip --disable-pip-version-check --quiet install --no-deps -r $<
	@touch $@

site: .venv-site/installed  ## the course as a website in build/site, from the stored outputs; needs no torch
	@PYTHONPATH=$(SITE_PATH) .venv-site/bin/python -m tools.site

links: .venv-site/installed  ## asks the hosts of the site's external links (needs a network)
	@PYTHONPATH=$(SITE_PATH) .venv-site/bin/python -m tools.site --links

pictures: setup  ## the README's pictures, taken anew (needs Chromium)
	@$(PYTHON_HERE) -m tools.pictures

publication: setup  ## where the course is published (ADDRESS=https://…; without one, nowhere)
	@ADDRESS=$(ADDRESS) $(PYTHON_HERE) -m tools.publication

lock: setup  ## resolve the versions anew (ARGS="--upgrade")
	@$(PYTHON_HERE) tools/lock.py $(ARGS)

clean:  ## remove .venv and build products
	rm -rf .venv .venv-oldest .venv-site .venv-otter build *.egg-info packages/*/*.egg-info packages/*/build .pytest_cache .mypy_cache .ruff_cache
