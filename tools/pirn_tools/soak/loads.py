# SPDX-License-Identifier: MIT
"""The three servers and their clients. Each has a folder of its own, where it keeps its data.

Clients always have the system's threads. Servers listen on the loopback, or at a Unix socket in
their folder.
"""

from __future__ import annotations

import json
import re
import sys
from abc import ABC, abstractmethod
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pirn_tools.soak.client import LATENCIES, RESULT
from pirn_tools.soak.keeper import Keeper
from pirn_tools.world.compare import Script, answers, last_line, verdict
from pirn_tools.world.plan import Program

LIMIT = 600.0  # seconds for what takes a few: a busy machine must not trip it
SERVER_LOG, SAID = "server", "said"
AS_USER = ("unshare", "-U", "--map-user=1000", "--map-group=1000")  # PostgreSQL refuses root
JAVA_HEAP = "96m"
SUMS = """select (select sum(abalance) from pgbench_accounts), (select sum(tbalance) from
pgbench_tellers), (select sum(bbalance) from pgbench_branches), coalesce(sum(delta), 0), count(*)
from pgbench_history"""


@dataclass(frozen=True)
class Place:
    """Where a server runs."""

    folder: Path
    environment: Mapping[str, str]  # without Pirn
    port: int
    pirn: tuple[str, ...]  # what stands before the command that is to run on Pirn; or nothing
    sources: Path  # apps/soak
    keeper: Keeper

    def start(self, words: Sequence[str], output: str) -> Script:
        return self.keeper.start(words, self.folder, self.environment, output)


@dataclass(frozen=True)
class Served:
    """What clients of one kind say at the end."""

    done: int
    failed: int
    errors: tuple[str, ...]
    latencies: list[int]  # microseconds, sorted
    worst_at: float  # when the reply of the longest one came: seconds since the start

    @staticmethod
    def read(folder: Path) -> Served:
        """What client.py or control.py has written."""
        try:
            said = json.loads((folder / RESULT).read_text())
        except OSError:
            why = f"the clients said nothing: {last_line(folder / SAID)}"
            raise LoadError(why) from None
        times = array("I")
        times.frombytes((folder / LATENCIES).read_bytes())
        errors = tuple(said["errors"])
        return Served(said["done"], said["failed"], errors, sorted(times), said["worst_at"])


class LoadError(Exception):
    """Something went wrong; the text is for the user."""


def call(place: Place, words: Sequence[str], output: str) -> str:
    """Runs a command to its end; what it said. LoadError if it fails."""
    path = place.folder / output
    path.unlink(missing_ok=True)
    ended = place.start(words, output).wait(LIMIT)
    failure = verdict(ended, path)
    if failure:
        raise LoadError(f"{Path(words[0]).name}: {failure}")
    return path.read_text(errors="replace")


class Load(ABC):
    """A server and its clients."""

    name: str
    wrong: str  # a regular expression for lines of the server's log that are errors

    def __init__(self, program: Program, rate: float) -> None:
        self.program = program  # of apps/world: its packages
        self.rate = rate  # requests a second

    @abstractmethod
    def about(self) -> str:
        """The server and its load, for the page."""

    def prepare(self, place: Place) -> None:  # noqa: B027, redis needs nothing
        """Before the server starts, with the system's threads."""

    @abstractmethod
    def command(self, place: Place) -> list[str]:
        """The server, which stays in the foreground."""

    @abstractmethod
    def ready(self, place: Place, server: Script) -> bool:
        """Waits until it answers; False if it does not."""

    @abstractmethod
    def clients(self, place: Place, seconds: float, warm_up: float) -> list[list[str]]:
        """Commands of the clients: client number i runs in the folder clients(i) of the place."""

    @abstractmethod
    def served(self, place: Place, warm_up: float) -> dict[str, Served]:
        """What the clients said, by kind."""

    def check(self, place: Place) -> list[str]:
        """What is wrong with what the server has kept, after the load."""
        return []

    def complaints(self, place: Place) -> list[str]:
        """Errors in the server's log, and what Pirn has said."""
        lines = (place.folder / SERVER_LOG).read_text(errors="replace").splitlines()
        return [line.strip() for line in lines if re.search(self.wrong, line)]


def client_folder(place: Place, number: int = 0) -> Path:
    return place.folder / f"clients{number}"


class OwnClients(Load):
    """A server whose clients are client.py."""

    connections: int
    lifetime: int

    def ready(self, place: Place, server: Script) -> bool:
        return answers(server, place.port, LIMIT)

    def clients(self, place: Place, seconds: float, warm_up: float) -> list[list[str]]:
        words = [sys.executable, "-m", "pirn_tools.soak.client", self.name]
        for name, value in {
            "port": place.port,
            "connections": self.connections,
            "lifetime": self.lifetime,
            "rate": self.rate,
            "seconds": seconds,
            "warm-up": warm_up,
        }.items():
            words += [f"--{name}", str(value)]
        return [words]

    def served(self, place: Place, warm_up: float) -> dict[str, Served]:
        return {self.name: Served.read(client_folder(place))}


class Redis(OwnClients):
    name = "redis"
    wrong = r"^pirn: |BUG REPORT|[Ff]atal|crashed| # .*[Ee]rror"
    connections = 16
    lifetime = 500

    def __init__(self, program: Program, rate: float, io_threads: int) -> None:
        super().__init__(program, rate)
        self.io_threads = io_threads

    def about(self) -> str:
        threads = f"{self.io_threads} I/O thread{'' if self.io_threads == 1 else 's'}"
        return (
            f"redis-server with {threads}, which writes a log of its data, and forks to shorten "
            f"it: {self.rate:g} requests a second over {self.connections} connections; a new one "
            f"after {self.lifetime} requests. Strings, counters, lists, values that expire"
        )

    def command(self, place: Place) -> list[str]:
        options = {
            "port": str(place.port),
            "bind": "127.0.0.1",
            "save": "",
            "appendonly": "yes",
            "appendfsync": "everysec",
            "auto-aof-rewrite-min-size": "8mb",
            "lazyfree-lazy-user-del": "yes",
            "io-threads": str(self.io_threads),
            "io-threads-do-reads": "yes",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        return [*place.pirn, "redis-server", *words]


class Java(OwnClients):
    name = "java"
    wrong = r"^pirn: |Exception|Error|^# A fatal|warning"
    connections = 8
    lifetime = 100

    def about(self) -> str:
        return (
            f"Java: a server of our own (apps/soak/Soak.java), G1, a heap of {JAVA_HEAP}: "
            f"{self.rate:g} requests a second over {self.connections} connections; a new one, "
            f"and so a new thread, after {self.lifetime} requests. A request uses a pool of 12 "
            "threads, a thread of its own, locks, sockets on the loopback, and makes garbage"
        )

    def _tool(self, name: str) -> str:
        version = next(one.split("-")[1] for one in self.program.packages if "openjdk" in one)
        found = sorted(Path("/usr/lib/jvm").glob(f"java-{version}-openjdk-*/bin/{name}"))
        if not found:
            raise LoadError(f"/usr/lib/jvm has no {name} of OpenJDK {version}")
        return str(found[0])

    def prepare(self, place: Place) -> None:
        source = place.sources / "Soak.java"
        call(place, [self._tool("javac"), "-d", ".", str(source)], "javac")

    def command(self, place: Place) -> list[str]:
        heap = [f"-Xms{JAVA_HEAP}", f"-Xmx{JAVA_HEAP}", "-XX:+AlwaysPreTouch"]
        collector = ["-XX:+UseG1GC", "-XX:ParallelGCThreads=2", "-XX:ConcGCThreads=1"]
        words = ["-XX:-UsePerfData", *heap, *collector, "-cp", ".", "Soak", str(place.port)]
        return [*place.pirn, self._tool("java"), *words]


class PostgreSQL(Load):
    name = "postgresql"
    wrong = r"^pirn: | (ERROR|FATAL|PANIC): (?!.*starting up)|terminated by signal"
    count = 8  # of pgbench's clients
    connects = 4.0  # new connections a second

    def about(self) -> str:
        return (
            f"PostgreSQL, without fsync: pgbench, {self.rate:g} of its own transactions a second "
            f"over {self.count} connections, and {self.connects:g} selects a second with a new "
            "connection for each. A process for each connection, of one thread"
        )

    def _tool(self, name: str) -> str:
        version = next(
            one.split("-")[-1] for one in self.program.packages if one.startswith("postgresql-")
        )
        return f"/usr/lib/postgresql/{version}/bin/{name}"

    def prepare(self, place: Place) -> None:
        words = [self._tool("initdb"), "-D", "db", "-A", "trust", "-U", "pg", "-N"]
        call(place, [*AS_USER, *words], "initdb")

    def command(self, place: Place) -> list[str]:
        options = [
            "fsync=off",
            "listen_addresses=",
            f"unix_socket_directories={place.folder}",
            "shared_buffers=8MB",
            "max_connections=40",
        ]
        words = [word for one in options for word in ("-c", one)]
        return [*AS_USER, *place.pirn, self._tool("postgres"), "-D", "db", *words]

    def _client(self, place: Place, tool: str) -> list[str]:
        return [self._tool(tool), "-h", str(place.folder), "-U", "pg"]

    def _ask(self, place: Place, what: str) -> str:
        return call(place, [*self._client(place, "psql"), "-Atc", what, "postgres"], "psql").strip()

    def ready(self, place: Place, server: Script) -> bool:
        while server.running():
            try:
                self._ask(place, "select 1")
            except LoadError:
                continue
            call(
                place, [*self._client(place, "pgbench"), "-i", "-q", "-s", "1", "postgres"], "init"
            )
            return True
        return False

    def clients(self, place: Place, seconds: float, warm_up: float) -> list[list[str]]:
        words = [*self._client(place, "pgbench"), "--no-vacuum", "--log", "-T", f"{seconds:.0f}"]
        kept = ["-c", str(self.count), "-j", "2", f"--rate={self.rate:g}"]
        opened = ["-C", "-S", "-c", "2", f"--rate={self.connects:g}"]
        return [[*words, *kept, "postgres"], [*words, *opened, "postgres"]]

    def served(self, place: Place, warm_up: float) -> dict[str, Served]:
        kinds = (self.name, f"{self.name}, new connections")
        return {kind: self._served(place, n, warm_up) for n, kind in enumerate(kinds)}

    def _served(self, place: Place, number: int, warm_up: float) -> Served:
        folder = client_folder(place, number)
        logged = [row for path in folder.glob("pgbench_log.*") for row in log(path)]
        start = min((moment for moment, _ in logged), default=0.0)
        done = len(logged)
        logged = [(moment, time) for moment, time in logged if moment - start >= warm_up]
        times = sorted(time for _, time in logged)
        said = (folder / SAID).read_text(errors="replace")
        errors = tuple(one for one in said.splitlines() if re.search("error|aborted|FATAL", one))
        found = re.search(r"number of failed transactions: (\d+)", said)
        failed = int(found[1]) if found else max(1, len(errors))
        worst = max(logged, key=lambda one: one[1], default=(start, 0))[0] - start
        return Served(done, failed, errors, times, worst)

    def check(self, place: Place) -> list[str]:
        """Each transaction adds the same to an account, a teller, a branch, and to the history."""
        *balances, rows = self._ask(place, SUMS).split("|")
        problems = []
        if len(set(balances)) != 1:
            problems.append(f"the balances differ: {', '.join(balances)}")
        wanted = sum(1 for path in client_folder(place).glob("pgbench_log.*") for _ in log(path))
        if int(rows) != wanted:
            problems.append(f"the history has {rows} rows, pgbench made {wanted}")
        return problems


def log(path: Path) -> list[tuple[float, int]]:
    """The moment and the latency (microseconds) of each transaction in a log of pgbench."""
    rows = []
    for line in path.read_text().splitlines():
        words = line.split()  # client, transaction, time, script, seconds, microseconds, lag
        if len(words) >= 6 and words[2].isdigit():
            rows.append((int(words[4]) + int(words[5]) / 1e6, int(words[2])))
    return rows
