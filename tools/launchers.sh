#!/bin/sh
# Installs Open MPI and Slurm (Debian, as root), starts Slurm with two virtual nodes on this machine,
# runs a command there, by default the recording of chapter 16, and stops Slurm again.
set -e
[ "$(id -u)" = 0 ] || { echo "make launchers: wants root, on Debian (it installs packages)" >&2; exit 1; }
command -v slurmctld mpirun tc >/dev/null ||
    apt-get install --yes --no-install-recommends slurm-wlm munge openmpi-bin iproute2

folder=$(mktemp -d)
mkdir "$folder/state" "$folder/bin"
printf '#!/bin/sh\n' > "$folder/bin/onebox"    # by which course_utils knows that Slurm runs here
chmod +x "$folder/bin/onebox"
host=$(hostname -s)
export SLURM_CONF="$folder/slurm.conf" PATH="$folder/bin:$PATH"
cat > "$SLURM_CONF" <<END
ClusterName=onebox
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool.%n
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.%n.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MpiDefault=none
NodeName=n1 NodeHostname=$host NodeAddr=127.0.0.1 Port=17001 CPUs=2 RealMemory=4000
NodeName=n2 NodeHostname=$host NodeAddr=127.0.0.1 Port=17002 CPUs=2 RealMemory=4000
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:4
END
stop() {
    for pid in "$folder"/*.pid; do kill "$(cat "$pid")" 2>/dev/null || true; done
    sleep 2
    rm -rf "$folder"
}
trap stop EXIT
pgrep -x munged >/dev/null || { mkdir -p /run/munge && chown munge /run/munge &&
    su -s /bin/sh munge -c "munged --force"; }
slurmctld && slurmd -N n1 && slurmd -N n2
until [ "$(sinfo --noheader --states=idle --format=%D)" = 2 ]; do sleep 1; done
if [ $# -gt 0 ]; then "$@"; else .venv/bin/python -m course_utils record 16_beyond_one_machine; fi
