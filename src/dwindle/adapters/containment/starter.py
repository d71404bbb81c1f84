"""Starting a program without standing still until it has begun.

Whoever starts a program is held until the new process has let go of the memory that it shares with
its starter, and for that it has to be given a processor first. On a busy machine that takes longer
than all else that is done to run a short program; and `subprocess` keeps the interpreter's lock
meanwhile, so that nothing else goes on. Here `posix_spawn` of the C library is called without the
lock, in threads that do nothing else.

On an idle machine it is the other way round: to wake a thread, and to get the lock back from it,
costs more than to stand still. So programs are started on the spot until one takes long to begin;
then threads start them for a while.

Not for a program that is tied to its starter: the kernel ends those with the *thread* that started
them. Not where the library is another, or older. And a start that fails is left to `subprocess`,
which knows what to say about it: see `program.py`.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from queue import SimpleQueue
from typing import Any

THREADS = 4
"""More starts than this at a time wait for each other."""

LONG_SECONDS = 0.001
"""A start that takes this long shows that the machine is busy."""
BUSY_SECONDS = 0.5
"""For which it is taken to be."""

_SET_DEFAULT, _SET_SESSION = 0x04, 0x80
_SHORT = 4000
_ENOUGH = 1024
"""Bytes for any record of the library; the largest of them has 336."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be started, in a session of its own: all that it inherits is named here."""

    program: str
    argv: tuple[str, ...]
    environment: tuple[str, ...]
    """`NAME=value`."""
    folder: str
    stdin: int | None
    """Without one, nothing can be read there."""
    stdout: int
    stderr: int


@dataclass(slots=True)
class Busy:
    """Whether it is better to have threads start programs."""

    until: float = 0.0


_BUSY = Busy()


class Start:
    """A start under way; `begun` hears the number of the process, and `refused` that there is none.

    Both may be called in another thread. Of what `begun` raises, `refused` hears too.
    """

    __slots__ = ("_arguments", "_begun", "_refused", "is_over")

    def __init__(
        self,
        wanted: Wanted,
        begun: Callable[[int], None],
        refused: Callable[[OSError | ValueError | None], None],
    ) -> None:
        """Raises ValueError for what no command line can hold."""
        self._arguments = _arguments(wanted)
        self._begun = begun
        self._refused = refused
        self.is_over = False
        """Nothing comes of it any more that has not been called."""
        # The library is not Python's own: whoever audits hears of it from us.
        sys.audit("os.posix_spawn", wanted.program, wanted.argv, wanted.environment)
        began = time.monotonic()
        if began < _BUSY.until:
            _threads().put(self)
            return
        self.run()
        ended = time.monotonic()
        if ended - began > LONG_SECONDS:
            _BUSY.until = ended + BUSY_SECONDS

    def run(self) -> None:
        """Here, or in one of the threads."""
        library, number = _library(), ctypes.c_int()
        try:
            if library.spawn(ctypes.byref(number), *self._arguments):
                self._refused(None)
            else:
                self._begun(number.value)
        except (OSError, ValueError) as problem:
            self._refused(problem)
        finally:
            library.quick.posix_spawn_file_actions_destroy(self._arguments[1])
            self.is_over = True


@cache
def is_possible() -> bool:
    """Whether the library can start programs in the way that is needed."""
    return sys.platform == "linux" and hasattr(
        ctypes.PyDLL(None), "posix_spawn_file_actions_addclosefrom_np"
    )


def _arguments(wanted: Wanted) -> tuple[Any, ...]:
    """As `posix_spawn` takes them, behind the first."""
    library = _library()
    quick, files = library.quick, ctypes.create_string_buffer(_ENOUGH)
    argv, environment = _words(wanted.argv), _words(wanted.environment)
    program, folder = _encoded(wanted.program), _encoded(wanted.folder)
    quick.posix_spawn_file_actions_init(files)
    if wanted.stdin is None:
        quick.posix_spawn_file_actions_addopen(files, 0, os.devnull.encode(), os.O_RDONLY, 0)
    else:
        quick.posix_spawn_file_actions_adddup2(files, wanted.stdin, 0)
    quick.posix_spawn_file_actions_adddup2(files, wanted.stdout, 1)
    quick.posix_spawn_file_actions_adddup2(files, wanted.stderr, 2)
    quick.posix_spawn_file_actions_addchdir_np(files, folder)
    quick.posix_spawn_file_actions_addclosefrom_np(files, 3)
    return program, files, library.attributes, argv, environment


def _words(words: tuple[str, ...]) -> Any:
    """An array for the library; the same few come again and again."""
    return _kept(words) if sum(map(len, words)) < _SHORT else _array(words)


def _array(words: tuple[str, ...]) -> Any:
    encoded = [_encoded(word) for word in words]
    return (ctypes.c_char_p * (len(encoded) + 1))(*encoded)  # the last one stays null


_kept = lru_cache(64)(_array)


def _encoded(word: str) -> bytes:
    encoded = os.fsencode(word)
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


@dataclass(frozen=True, slots=True)
class _Library:
    spawn: Any
    """Called without the lock."""
    quick: Any
    """What returns at once, and is called with it."""
    attributes: Any


@cache
def _library() -> _Library:
    quick = ctypes.PyDLL(None)
    attributes, signals = (ctypes.create_string_buffer(_ENOUGH) for _ in range(2))
    quick.posix_spawnattr_init(attributes)
    quick.posix_spawnattr_setflags(attributes, ctypes.c_short(_SET_DEFAULT | _SET_SESSION))
    quick.sigemptyset(signals)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python; a program expects to get them
        quick.sigaddset(signals, ignored)
    quick.posix_spawnattr_setsigdefault(attributes, signals)
    return _Library(ctypes.CDLL(None).posix_spawn, quick, attributes)


@cache
def _threads() -> SimpleQueue[Start]:
    """Where the threads look for what is to be started; they last as long as we do."""
    waiting: SimpleQueue[Start] = SimpleQueue()

    def serve() -> None:
        while True:
            waiting.get().run()

    for number in range(THREADS):
        threading.Thread(target=serve, name=f"starter-{number}", daemon=True).start()
    return waiting
