"""Run a command and report what it took: meter.py DESCRIPTOR COMMAND...

A small separate process, without anything of lshdb: Linux counts the memory of the process that
starts a command as the command's own, and `wait4` gives the CPU time of a command with all its
descendants, and the memory of the largest of them, only to the process that started it. Writes
JSON to the open file with that number.
"""

import json
import os
import sys
import time


def main() -> None:
    descriptor, command = int(sys.argv[1]), sys.argv[2:]
    os.set_inheritable(descriptor, False)
    if group := os.environ.pop("GROUP", None):
        with open(f"{group}/cgroup.procs", "w") as processes:
            processes.write(str(os.getpid()))
    begun = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    seconds = time.perf_counter() - begun
    unit = 1 if sys.platform == "darwin" else 1024
    taken = {
        "status": os.waitstatus_to_exitcode(status),
        "seconds": seconds,
        "cpu": usage.ru_utime + usage.ru_stime,
        "largest": usage.ru_maxrss * unit,
    }
    os.write(descriptor, json.dumps(taken).encode())


if __name__ == "__main__":
    main()
