"""Failures of what is not on this machine: workers of a cluster, files at URLs."""

from __future__ import annotations

from profiler.errors.base import ProfError


class RemoteNotInstalled(ProfError):
    exit_code = 95
    remedy = "`pip install 'ncu-prof[s3]'` for S3; gs:// needs gcsfs beside it, az:// adlfs."


class RemoteDenied(ProfError):
    exit_code = 96
    remedy = (
        "Give credentials the usual way (for S3: AWS_PROFILE, or AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY), "
        "and check what they allow."
    )


class RemoteFailed(ProfError):
    exit_code = 97
    remedy = (
        "Check the URL, the network and the endpoint (for S3: AWS_ENDPOINT_URL, AWS_REGION), then try again."
    )


class ClusterError(ProfError):
    exit_code = 103


class ClusterNotInstalled(ClusterError):
    exit_code = 104
    remedy = (
        "`pip install 'ncu-prof[cluster]'`, in the environment that holds prof, here and on every worker."
    )


class ClusterUnreachable(ClusterError):
    exit_code = 105
    remedy = "Check that `dask scheduler` runs, its address, and its certificates where it has some (--tls-ca, --tls-cert, --tls-key)."


class SchedulerLost(ClusterError):
    exit_code = 106
    remedy = "What was committed stays. Start the scheduler and its workers again, then run the same command: it goes on from there."


class WorkerLost(ClusterError):
    exit_code = 107
    remedy = "See the log of that worker, and how much memory it had."


class SlurmFailed(ClusterError):
    exit_code = 102
    remedy = "Correct what --slurm gives to sbatch; `sinfo` shows the partitions, `squeue --me` your jobs."


class WorkerUnlike(ClusterError):
    exit_code = 98
    remedy = "Install the same prof here and on every worker, and start the workers again."


class NoWorkerLeft(ClusterError):
    exit_code = 99
    remedy = (
        "Start workers with `prof worker ADDRESS`, then run the same command again: it goes on from there."
    )


class WorkerLacks(ClusterError):
    exit_code = 100
    remedy = "Put it at the same path on every worker, or name what a rung reads in its `sources`: that travels by itself."


class KernelGivenUp(ClusterError):
    exit_code = 101
    remedy = (
        "See the logs of these workers: the kernel, or what it takes of their memory, may be what ends them."
    )
