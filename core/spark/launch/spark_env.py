"""Read the variables that `spark-env.sh` sets, by bash and first of all, as in Spark's own scripts."""

from __future__ import annotations

import os
import subprocess
from collections.abc import MutableMapping

from paimark.core.errors import Unavailable
from paimark.core.spark.launch.home import SparkHome

_LOADED = "SPARK_ENV_LOADED"
# Its output goes to stderr. At the end bash prints all variables, exported or not, as in Spark's scripts.
_SOURCE = 'exec 3>&1 1>&2; set -a; . "$1"; set +a; env -0 >&3'
_SECONDS = 30
# The shell's own variables, and those that decided which file is read.
_NOT_TAKEN = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "SPARK_HOME", "SPARK_CONF_DIR"})


def load_spark_env(spark: SparkHome, environment: MutableMapping[str, str] = os.environ) -> None:
    """Add the variables that it sets to the environment, once. Raises `Unavailable` if it fails."""
    path = spark.configuration / "spark-env.sh"
    if environment.get(_LOADED) or not path.is_file():
        return
    given = {
        **environment,
        "SPARK_HOME": str(spark.home),
        "SPARK_CONF_DIR": str(spark.configuration),
        _LOADED: "1",
    }
    try:
        run = subprocess.run(
            ["bash", "-c", _SOURCE, "bash", str(path)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            env=given,
            timeout=_SECONDS,
            check=True,
        )
    except subprocess.TimeoutExpired as error:
        raise _failed(path, f"did not end in {_SECONDS} seconds") from error
    except subprocess.CalledProcessError as error:
        raise _failed(path, f"ended with exit code {error.returncode}") from error
    except OSError as error:
        raise _failed(path, f"can't be run by bash ({error.strerror})") from error
    pairs = (os.fsdecode(each).partition("=") for each in run.stdout.split(b"\0") if each)
    environment.update({name: value for name, _, value in pairs if name not in _NOT_TAKEN})


def _failed(path: os.PathLike[str], why: str) -> Unavailable:
    return Unavailable(
        f"{path} {why}", "Correct it, or let SPARK_CONF_DIR name another directory. The log says more."
    )
