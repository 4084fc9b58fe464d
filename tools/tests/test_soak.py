# SPDX-License-Identifier: MIT
"""`pirn soak`, without packages: what is judged, clients against a server of this test, options,
and that all that was started ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from array import array
from pathlib import Path

import pytest
from click.testing import CliRunner

from pirn_tools import paths
from pirn_tools.cli import main
from pirn_tools.soak import client, judge, loads, processes, protocols, report
from pirn_tools.soak.keeper import Interrupted, Keeper, ask_to_end
from pirn_tools.soak.loads import Served
from pirn_tools.soak.processes import Sample
from pirn_tools.soak.protocols import Java, Redis, ReplyError
from pirn_tools.soak.run import Result
from pirn_tools.world.compare import NPTL, PIRN
from pirn_tools.world.plan import Program

# ---- percentiles -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "percent", "expected"),
    [
        *[(1, 50, 1), (1, 100, 1), (2, 50, 1), (3, 50, 2), (100, 99, 99), (100, 99.9, 100)],
        *[(1000, 99.9, 999), (1000, 100, 1000), (10, 0, 1)],
    ],
)
def test_percentile_is_the_least_value_that_so_many_do_not_exceed(
    count: int, percent: float, expected: int
) -> None:
    assert judge.percentile(range(1, count + 1), percent) == expected


def test_percentile_of_nothing_is_an_error() -> None:
    with pytest.raises(ValueError, match="no values"):
        judge.percentile([], 50)


# ---- growth ------------------------------------------------------------------------------------


def grows(values: list[float], step: float = 0) -> bool:
    found = judge.growth(values)
    assert found is not None
    return found.grows(step)


def test_memory_is_flat_when_only_the_first_quarter_grows() -> None:
    assert not grows([*map(float, range(1, 26)), *[100.0] * 75])


def test_memory_grows_when_the_last_quarter_is_above_the_second() -> None:
    assert grows([float(each) for each in range(100, 200)])
    assert grows([100.0] * 75 + [106.0] * 25)
    assert not grows([100.0] * 75 + [104.0] * 25)


def test_memory_is_flat_when_it_shrinks_or_has_a_peak() -> None:
    assert not grows([float(each) for each in range(200, 100, -1)])
    assert not grows([100.0] * 90 + [1000.0] * 5 + [100.0] * 5)


def test_memory_is_flat_when_the_difference_is_less_than_a_step() -> None:
    values = [10.0] * 50 + [12.0] * 50
    assert grows(values, step=1.9)
    assert not grows(values, step=2)


def test_growth_is_unknown_when_there_are_few_samples() -> None:
    assert judge.growth([1.0] * (judge.LEAST_SAMPLES - 1)) is None
    assert judge.growth([0.0] * judge.LEAST_SAMPLES) == judge.Growth(0, 0)
    assert judge.Growth(0, 0).share == 0


def leaking(descriptors: int) -> Result:
    samples = [Sample(each, 1 << 20, 10 + descriptors * each, 4, 1, 0.0) for each in range(40)]
    return Result(loads.Redis(Program("redis", "t"), 1, 1), samples=samples)


def test_result_fails_when_descriptors_leak() -> None:
    result = leaking(1)
    result.judge(minutes=60)
    assert result.failures == ["the number of descriptors grows by 82%"]


def test_result_of_a_short_run_is_not_judged() -> None:
    result = leaking(1)
    result.judge(minutes=5)
    assert result.failures == []


# ---- processes ---------------------------------------------------------------------------------


def test_descendants_are_found_in_any_order() -> None:
    assert processes.descendants(1, {4: 3, 3: 1, 2: 1, 9: 8}) == [1, 3, 2, 4]


def test_sample_counts_children_too() -> None:
    child = subprocess.Popen(
        ["sh", "-c", "sleep 1000 & sleep 1000 & echo; wait"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert child.stdout is not None
        child.stdout.readline()
        found = processes.sample(child.pid, 1.5)
        assert found is not None
        assert (found.seconds, found.processes, found.threads) == (1.5, 3, 3)
        assert found.memory > 0
        assert found.descriptors >= 9
    finally:
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
    assert processes.sample(child.pid, 1.5) is None


# ---- protocols ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "value"),
    [
        (b"+OK\r\n", b"OK"),
        (b":-7\r\n", -7),
        (b"$5\r\na\r\nbc\r\n", b"a\r\nbc"),
        (b"$-1\r\n", None),
        (b"*2\r\n$1\r\nx\r\n:3\r\n", [b"x", 3]),
        (b"*0\r\n", []),
    ],
)
def test_reply_of_redis_is_read_whole(data: bytes, value: object) -> None:
    assert protocols.parse(data, 0) == (value, len(data))
    for length in range(len(data)):
        assert protocols.parse(data[:length], 0) is None


def test_reply_that_is_not_as_expected_is_an_error() -> None:
    for said in (b"-ERR no memory\r\n", b"+NO\r\n", b"+OK\r\n+OK\r\n", b":1\r\n"):
        protocol = Redis(0)
        protocol.expected = [b"OK"]
        with pytest.raises(ReplyError):
            protocol.reply(said)
    java = Java(0)
    java.request()
    with pytest.raises(ReplyError, match="a wrong reply: 12 instead of"):
        java.reply(b"12\n")


def test_either_reply_is_right_for_what_expires() -> None:
    for said in (b"$-1\r\n+OK\r\n", b"$4\r\nhere\r\n+OK\r\n"):
        protocol = Redis(0)
        _, protocol.expected = protocol._volatile(1)
        assert protocol.reply(said)


def test_sums_are_those_of_the_java_server() -> None:
    java = Java(0)
    x = [2]
    for _ in range(java.STEPS):
        x.append((x[-1] * 1103515245 + 12345) % (1 << 31))
    assert java.part(2) == sum(one % 1000 for one in x[1:])
    source = (paths.project() / "apps/soak/Soak.java").read_text()
    assert f"PARTS = {java.PARTS}, STEPS = {java.STEPS}," in source


# ---- clients -----------------------------------------------------------------------------------


class Server:
    """Answers each line with the right sum, but one in so many; after a delay (seconds)."""

    def __init__(self, wrong_every: int = 0, delay: float = 0) -> None:
        self.wrong_every = wrong_every
        self.delay = delay
        self.answered = self.accepted = 0
        self.lock = threading.Lock()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self.listener.accept()
            self.accepted += 1
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        java = Java(0)
        with connection, connection.makefile("rwb") as stream:
            for line in stream:
                total = sum(java.part(int(line) + each) for each in range(java.PARTS))
                with self.lock:
                    self.answered += 1
                    if self.wrong_every and self.answered % self.wrong_every == 0:
                        total += 1
                time.sleep(self.delay)
                stream.write(b"%d\n" % total)
                stream.flush()


def serve_clients(folder: Path, server: Server, *more: str) -> dict[str, object]:
    words = [sys.executable, "-m", "pirn_tools.soak.client", "java", "--port", str(server.port)]
    words += ["--connections", "3", "--lifetime", "10", "--rate", "200", "--seconds", "1", *more]
    environment = {**os.environ, "PYTHONPATH": str(paths.project() / "tools")}
    subprocess.run(words, cwd=folder, env=environment, check=True)
    said: dict[str, object] = json.loads((folder / client.RESULT).read_text())
    return said


def test_clients_make_all_requests_over_many_connections(tmp_path: Path) -> None:
    server = Server()
    said = serve_clients(tmp_path, server, "--warm-up", "0")
    times = array("I")
    times.frombytes((tmp_path / client.LATENCIES).read_bytes())
    assert said["failed"] == 0
    assert said["done"] == server.answered == len(times)
    assert server.answered > 100  # of 200, at random moments
    assert server.accepted >= server.answered // 10
    assert min(times) > 0


def test_clients_count_wrong_replies_and_go_on(tmp_path: Path) -> None:
    server = Server(wrong_every=50)
    said = serve_clients(tmp_path, server, "--warm-up", "0")
    assert said["failed"] == server.answered // 50
    assert "a wrong reply" in str(said["errors"])


def test_clients_give_up_when_the_server_is_too_slow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "DRAIN", 0.0)
    monkeypatch.chdir(tmp_path)
    server = Server(delay=0.05)
    one = client.Clients([client.Connection(Java(0), server.port, 100)], rate=1000, warm_up=0)
    with (tmp_path / client.LATENCIES).open("wb") as out:
        one.run(0.5, out)
    assert one.failed > 100
    assert "the server is too slow for the rate" in str(one.errors)


def test_latencies_of_the_warm_up_are_left_out(tmp_path: Path) -> None:
    said = serve_clients(tmp_path, Server(), "--warm-up", "2")
    assert said["done"]
    assert (tmp_path / client.LATENCIES).read_bytes() == b""


def test_control_measures_how_late_it_is(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "pirn_tools.soak.control", "0.3", "0"]
    environment = {**os.environ, "PYTHONPATH": str(paths.project() / "tools")}
    subprocess.run(words, cwd=tmp_path, env=environment, check=True)
    served = Served.read(tmp_path)
    assert 0 < served.done == len(served.latencies) <= 30
    assert served.worst_at > 0


def test_log_of_pgbench_is_read(tmp_path: Path) -> None:
    path = tmp_path / "pgbench_log.1"
    path.write_text("0 1 1500 0 1700000000 250000 30\n1 1 skipped 0 1700000000 1 2\nbroken\n")
    assert loads.log(path) == [(1700000000.25, 1500)]


# ---- ends --------------------------------------------------------------------------------------


def test_keeper_ends_processes_that_have_a_session_of_their_own(tmp_path: Path) -> None:
    keeper = Keeper()
    text = "setsid sh -c 'echo $$ > own; exec sleep 1000' & while ! [ -s own ]; do sleep 0.01; done"
    keeper.start(["sh", "-c", f"{text}; touch up; wait"], tmp_path, dict(os.environ), "said")
    while not (tmp_path / "up").exists():
        assert keeper.scripts[0].running()
    keeper.end_all()
    assert keeper.scripts[0].child.returncode != 0
    own = int((tmp_path / "own").read_text())
    while not gone(own):  # it has been killed, and ends when the kernel gets to it
        time.sleep(0.01)


def gone(pid: int) -> bool:
    try:
        return " Z " in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return True


def test_process_that_has_ended_is_asked_and_awaited(tmp_path: Path) -> None:
    keeper = Keeper()
    script = keeper.start(["true"], tmp_path, dict(os.environ), "said")
    while script.running():
        time.sleep(0.01)
    ask_to_end(script)
    assert script.wait(60).status == 0
    ask_to_end(script)
    keeper.end_all()


def test_keeper_is_interrupted_after_what_it_starts_is_known(tmp_path: Path) -> None:
    keeper = Keeper()
    with pytest.raises(Interrupted), keeper._hold():
        keeper._signal(signal.SIGINT, None)
    with pytest.raises(Interrupted):
        keeper._signal(signal.SIGINT, None)


# ---- options -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--minutes 0", "'--minutes': 0.0 is not in the range 0.5<=x<=10080"),
        ("--minutes soon", "'--minutes': 'soon' is not a valid float"),
        ("--nptl-minutes -1", "'--nptl-minutes': -1.0 is not in the range"),
        ("--only mysql", "'mysql' is not one of 'redis', 'postgresql', 'java'"),
        ("--redis-rate 0", "'--redis-rate'"),
        ("--io-threads 0", "'--io-threads'"),
        ("--minutes 1 --every 10", "fewer than 16 samples: --every may be at most 3.75"),
        ("--csv /no/such/file", "/no/such is no folder"),
        ("--run-options '\"'", "No closing quotation"),
        ("--run-options '--sched nosuch'", "nosuch"),
    ],
)
def test_command_says_which_option_is_wrong(words: str, message: str) -> None:
    import shlex

    done = CliRunner().invoke(main, ["soak", *shlex.split(words)])
    assert done.exit_code == 2
    assert message in " ".join(done.output.split())


# ---- the page ----------------------------------------------------------------------------------


def test_page_has_latencies_growth_and_what_fails() -> None:
    load = loads.Redis(Program("redis", "t", packages=("redis-server",)), 400, 1)
    good, bad = leaking(0), leaking(0)
    good.served = {"redis": Served(1000, 0, (), list(range(1000, 2000)), 61.5)}
    bad.served = {"redis": Served(999, 1, ("no reply",), [], 0)}
    bad.failures = ["1 errors: no reply"]
    runs = [report.Run(NPTL, 15, [good]), report.Run(PIRN, 60, [bad])]
    text = report.page(runs, [load], {"redis": ["redis-server=7", "other=1"]}, ["a machine"])
    assert "| redis | NPTL | 1,000 | 0 | 1.50 | 1.99 | 2.00 | 2.00 | 1:01 |" in text
    assert "| redis | Pirn | 999 | 1 | - | - | - | - | 0:00 |" in text
    assert "| redis | NPTL | 1.0 | 1.0 | +0.0% | 10, 10 | 4, 4 | 1 | 0.0% |" in text
    assert "- redis with Pirn: 1 errors: no reply" in text
    assert "- redis: redis-server 7\n" in text
    assert report.csv(runs).splitlines()[1] == "nptl,redis,0.0,1048576,10,4,1,0.00"
    assert len(report.csv(runs).splitlines()) == 81
