"""`make publication ADDRESS=…`: the course's address, kept in one file, and what is made of it.

The README's `git clone` and links to Colab, and the cell for hosted notebooks, follow from
data/publication.toml; an empty address takes the links away again.
"""

import os
import re
import sys
import tomllib
from pathlib import Path

from course_utils.core.files import ROOT

KEPT = "data/publication.toml"
INDEX = "notebooks/00_index.ipynb"
HOSTED = "hosted"  # the branch whose notebooks fetch the course in their first cell
GITHUB = re.compile(r"https://github\.com/([\w.-]+/[\w.-]+?)(?:\.git)?/?")
ROW = re.compile(r"^(\| \[\d\d · [^]]*\]\(notebooks/(\w+)\.ipynb\))[^|]*\|", re.M)


def address() -> str:
    """The address where the course is published, or ""."""
    return tomllib.loads((ROOT / KEPT).read_text(encoding="utf-8"))["address"]


def services(address: str, stem: str) -> dict[str, str]:
    """Addresses that open a chapter, by service; none where the course isn't on GitHub."""
    found = GITHUB.fullmatch(address)
    if not found:
        return {}
    page = f"github.com/{found[1]}/blob/{HOSTED}/{stem}.ipynb"
    return {
        "Colab": f"https://colab.research.google.com/{page.replace('.com', '', 1)}",
        "Kaggle": f"https://www.kaggle.com/kernels/welcome?src=https://{page}",
    }


def rewritten(name: str, text: str, address: str) -> str:
    """The file's text with this address in place of the one that it names."""
    if name == KEPT:
        return re.sub(r'^address = ".*"$', f'address = "{address}"', text, flags=re.M)
    if name == "README.md":
        clone = f"git clone {address or 'ADDRESS'} course && cd course"
        clone += "" if address else "  # ADDRESS: where you found this page"
        text = re.sub(r"^git clone .*", lambda _: clone, text, flags=re.M)
        return ROW.sub(lambda row: f"{row[1]}{_links(address, row[2])} |", text)
    quote = '\\"' if name == INDEX else '"'  # a notebook is JSON
    cell = f"ADDRESS = {quote}{address}{quote}"
    return re.sub(rf"ADDRESS = {re.escape(quote)}.*?{re.escape(quote)}", lambda _: cell, text)


def _links(address: str, stem: str) -> str:
    return "".join(f" · [{name}]({to})" for name, to in services(address, stem).items())


def main() -> None:
    """Writes the address of the environment's ADDRESS everywhere."""
    new = os.environ.get("ADDRESS", "")
    if not re.fullmatch(r"[\w.:/@~+-]*", new):
        sys.exit(f"{new!r} isn't an address that `git clone` takes: give it as ADDRESS=https://…")
    for name in (KEPT, "README.md", "docs/hosted.md", INDEX):
        path = Path(ROOT / name)
        path.write_text(rewritten(name, path.read_text(encoding="utf-8"), new), encoding="utf-8")
    print(f"The course is published at {new}." if new else "The course isn't published.")
    if services(new, ""):
        print("Its links to Colab work once .github/workflows/pages.yml ran (docs/website.md).")


if __name__ == "__main__":
    main()
