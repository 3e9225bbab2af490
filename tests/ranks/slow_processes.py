"""Correct programs that are slow outside of torch: system calls, locks, children, signals."""

import textwrap


def late(work: str, ranks: int = 2) -> tuple[str, str]:
    """Rank 1 does the work, and the others wait for it at a barrier."""
    return f"if rank == 1:\n{textwrap.indent(textwrap.dedent(work), '    ')}\ndist.barrier()", str(
        ranks
    )


SYSTEM = {
    "a program that is waited for": late("subprocess.run(['sleep', str(SLOW)])"),
    "what a program prints": late(
        "slow = subprocess.Popen(['sh', '-c', f'sleep {SLOW}; echo'], stdout=subprocess.PIPE)\n"
        "slow.stdout.read()"
    ),
    "os.system": late("os.system(f'sleep {SLOW}')"),
    "a lock on a file": late(
        """
        import fcntl
        name = tempfile.mktemp()
        holder = subprocess.Popen(["flock", name, "sleep", str(SLOW)])
        time.sleep(0.5)
        with open(name, "w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
        """
    ),
    "a database that is locked": late(
        """
        import sqlite3
        name = tempfile.mktemp()
        first, second = (sqlite3.connect(name, isolation_level=None) for _ in range(2))
        first.execute("begin exclusive")
        threading.Timer(SLOW, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        signal.signal(signal.SIGUSR1, lambda *_: first.execute("commit"))
        while True:
            try:
                second.execute("pragma busy_timeout = 100")
                second.execute("create table t (x)")
                break
            except sqlite3.OperationalError:
                pass
        """
    ),
    "a server that is slow to answer": late(
        """
        here, there = socket.socketpair()
        if os.fork() == 0:
            time.sleep(SLOW)
            there.send(b"x")
            os._exit(0)
        here.recv(1)
        """
    ),
    "a pipe that is full": late(
        """
        reading, writing = os.pipe()
        if os.fork() == 0:
            os.close(writing)
            time.sleep(SLOW)
            while os.read(reading, 65536):
                pass
            os._exit(0)
        os.write(writing, bytes(1_000_000))
        os.close(writing)
        os.wait()
        """
    ),
    "a signal that is waited for": late(
        """
        signal.signal(signal.SIGALRM, lambda *_: None)
        signal.setitimer(signal.ITIMER_REAL, SLOW)
        signal.pause()
        """
    ),
    "a debugger that stops a rank for a while": (
        "if rank == 1:\n"
        "    subprocess.Popen(['sh', '-c', f'sleep {SLOW}; kill -CONT {os.getpid()}'])\n"
        "    os.kill(os.getpid(), signal.SIGSTOP)\ndist.barrier()\ntime.sleep(1)\ndist.barrier()",
        "2",
    ),
    "a rank that is stopped while it waits": (
        "if rank == 1:\n"
        "    subprocess.Popen(['sh', '-c', f'sleep 1; kill -STOP {os.getpid()}; sleep {SLOW};'\n"
        "                      f'kill -CONT {os.getpid()}'])\n    dist.barrier()\n"
        "else:\n    time.sleep(2)\n    dist.barrier()", "2",
    ),
    "C code that keeps the interpreter's lock": late("__import__('ctypes').PyDLL(None).sleep(5)"),
    "C code that gives it up": late("__import__('ctypes').CDLL(None).sleep(5)"),
    "one long call of C code": late("sum(range(10**8)); sum(range(10**8)); sum(range(10**8))"),
    "a loop of Python": late("end = time.monotonic() + SLOW\nwhile time.monotonic() < end:\n"
    "    pass"),
}  # fmt: skip

PYTHON = {
    "an object that is slow to go": late(
        """
        import gc
        class Slow:
            def __del__(self):
                time.sleep(SLOW)
        slow = Slow()
        slow.itself = slow
        del slow
        gc.collect()
        """
    ),
    "a loop of events": late("import asyncio\nasyncio.run(asyncio.sleep(SLOW))"),
    "a pool of threads": late(
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(2) as pool:\n    pool.submit(time.sleep, SLOW).result()"
    ),
    "a pool of processes": late(
        "import multiprocessing\nwith multiprocessing.get_context('fork').Pool(1) as pool:\n"
        "    pool.map(time.sleep, [SLOW])"
    ),
    "a queue of another process": late(
        "import multiprocessing as mp\nfork = mp.get_context('fork')\nfound = fork.Queue()\n"
        "fork.Process(target=lambda: (time.sleep(SLOW), found.put(1))).start()\nfound.get()"
    ),
    "a lock of another process": late(
        "import multiprocessing as mp\nfork = mp.get_context('fork')\nlock = fork.Lock()\n"
        "lock.acquire()\n"
        "fork.Process(target=lambda: (time.sleep(SLOW), lock.release())).start()\nlock.acquire()"
    ),
    "a lock that a sleeping thread holds": late(
        "lock = threading.Lock()\nlock.acquire()\nthreading.Timer(SLOW, lock.release).start()\n"
        "lock.acquire()"
    ),
    "a barrier of threads": late(
        "meet = threading.Barrier(2)\nthreading.Timer(SLOW, meet.wait).start()\nmeet.wait()"
    ),
    "a test that imports slowly": late(
        "name = tempfile.mkdtemp()\nopen(name + '/slow_module.py', 'w').write("
        "'import time; time.sleep(4.5)')\nsys.path.append(name)\nimport slow_module"
    ),
}  # fmt: skip
