"""Forks children that record steps as fast as they can and kills each at a random instant; run by test_kills.py.

Arguments: a folder and the number of kills. Prints for each child its folder and the steps and answers whose recording
had returned. A script of its own, because a process that forks should have no threads.
"""

import json
import mmap
import os
import random
import signal
import struct
import sys
import time
from pathlib import Path

from conftest import Rig


def record(folder, returned):
    rig = Rig(folder)
    run = rig.start()
    run.record_step("user", "prompt")
    for number in range(1, 10**9):
        answer = rig.answer(f"{number} " + "x" * random.choice([10, 1_000, 12_000, 50_000]))
        rig.turn(run, answer)
        struct.pack_into("Q", returned, 0, number)


def main(folder, kills):
    returned = mmap.mmap(-1, 8)
    Rig(folder).start()  # imports once what each child needs
    for kill in range(kills):
        home = folder / str(kill)
        home.mkdir()
        struct.pack_into("Q", returned, 0, 0)
        child = os.fork()
        if child == 0:
            record(home, returned)
        while struct.unpack_from("Q", returned)[0] == 0:
            time.sleep(0.001)
        time.sleep(random.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sys.stdout.write(json.dumps([str(home), struct.unpack_from("Q", returned)[0]]) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
