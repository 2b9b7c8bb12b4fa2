"""A Slurm of one node with two GPUs, on loopback: Debian's own munged, slurmctld and slurmd, as whoever runs the test.

All that it writes is in one folder, its ports are whatever was free, and it ends with everything that it started.
The GPUs are two device files that every machine has: Slurm hands them out and sets CUDA_VISIBLE_DEVICES, and
nobody opens them.
"""

import getpass
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from contextlib import contextmanager, suppress
from pathlib import Path

from living import living, wait_until

_DAEMONS = ("munged", "slurmctld", "slurmd")
_PLACES = f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin"  # a user's PATH may lack them
_START_S = 30
_STOP_S = 10

_CONFIGURATION = """
ClusterName=test
SlurmctldHost=localhost
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmdParameters=config_overrides
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_interval=1
KillWait=1
GresTypes=gpu
NodeName=localhost CPUs=8 RealMemory=16000 Gres=gpu:2
PartitionName=gpu Nodes=localhost Default=YES State=UP
"""


@contextmanager
def running_slurm():
    """The variables by which sbatch and all others find it."""
    folder = Path(tempfile.mkdtemp(prefix="slurm-"))  # pytest's are too long for a socket
    folder.chmod(0o755)  # munged wants everybody to reach that socket
    variables = {"SLURM_CONF": str(folder / "slurm.conf")}
    daemons = []
    try:
        _write_configuration(folder)
        for command in (
            ["munged", "--foreground", f"--socket={folder}/munge.sock", f"--key-file={folder}/munge.key",
             f"--pid-file={folder}/munged.pid", f"--log-file={folder}/munged.log", f"--seed-file={folder}/seed"],
            ["slurmctld", "-D", "-i"],
            ["slurmd", "-D", "-N", "localhost"],
        ):  # fmt: skip
            daemons.append(_start(command, folder, variables))
            if command[0] == "munged":
                _wait(folder, (folder / "munge.sock").exists)
        _wait(folder, lambda: _ask("sinfo --noheader --format %T", variables) == "idle")
        yield variables
    finally:
        _stop(daemons, variables)
        shutil.rmtree(folder, ignore_errors=True)


def queue(variables):
    """The state of every job that is there: RUNNING, PENDING."""
    return _ask("squeue --noheader --format %T", variables).split()


def running_jobs(variables):
    """Their numbers, the oldest first."""
    return _ask("squeue --noheader --states RUNNING --sort i --format %i", variables).split()


def cancel(job, variables):
    _ask(f"scancel {job}", variables)


def _write_configuration(folder):
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.touch(0o600)
    key.write_bytes(os.urandom(1024))
    with socket.socket() as one, socket.socket() as other:
        for port in (one, other):
            port.bind(("127.0.0.1", 0))
        text = _CONFIGURATION.format(
            folder=folder, user=getpass.getuser(),
            controller_port=one.getsockname()[1], node_port=other.getsockname()[1],
        )  # fmt: skip
    (folder / "slurm.conf").write_text(text)
    (folder / "gres.conf").write_text("Name=gpu File=/dev/null\nName=gpu File=/dev/zero\n")


def _start(command, folder, variables):
    program = shutil.which(command[0], path=_PLACES)
    assert program is not None
    with open(folder / f"{command[0]}.log", "wb") as log:
        return subprocess.Popen(
            [program, *command[1:]], stdout=log, stderr=log, env={**os.environ, **variables}, cwd=folder
        )


def _wait(folder, condition):
    deadline = time.monotonic() + _START_S
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("\n".join(log.read_text() for log in folder.glob("*.log")))
        time.sleep(0.05)


def _ask(command, variables):
    environment = {**os.environ, **variables}
    return subprocess.run(
        command.split(), env=environment, capture_output=True, text=True, timeout=30, check=False
    ).stdout.strip()


def _stop(daemons, variables):
    """The jobs by their own Slurm, so that it has seen them end; then whatever still belongs to it."""
    if len(daemons) == len(_DAEMONS):
        _ask(f"scancel --user {getpass.getuser()}", variables)
        wait_until(lambda: not queue(variables), _STOP_S)
    for daemon in reversed(daemons):
        daemon.terminate()
    for daemon in daemons:
        with suppress(subprocess.TimeoutExpired):
            daemon.wait(timeout=_STOP_S)
    for process in _belonging(variables):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    for daemon in daemons:
        daemon.wait()


def _belonging(variables):
    """Everything that Slurm started has its variables in its environment."""
    (mark,) = [f"{name}={value}\0" for name, value in variables.items()]
    return [one.pid for one in living(mark) if one.pid != os.getpid()]
