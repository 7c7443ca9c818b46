"""Runs a command that must not outlive the process that asked for it: launch.py PARENT_PID COMMAND…

Where the kernel cannot promise that (it can on Linux), the command simply runs.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main(parent: str, *command: str) -> None:
    if sys.platform == "linux":
        # A polite signal: servers with processes of their own stop those first.
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
        if os.getppid() != int(parent):
            sys.exit("The process that asked for this one is gone.")
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
