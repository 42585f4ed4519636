"""A Ray cluster of two nodes on loopback does what one process does; a worker or a node that is killed costs its job.

Nothing else of Ray is started: no dashboard, no telemetry, and 80 MB for its objects on each node.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from test_jobs import begun, diary, die_at_first, refuse, slow, square
from train.made import log_file

from stap import fleet, sources
from stap.errors import BadInput
from stap.jobs import Hands, each
from stap.studies.data import Data
from stap.studies.experiment import carry_out
from stap.studies.populations import NamedPeople

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]  # of Ray's own making
NODE: dict[str, Any] = {"num_cpus": 1, "object_store_memory": 80 << 20, "node_ip_address": "127.0.0.2"}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as set_:
        set_.setenv("RAY_USAGE_STATS_ENABLED", "0")
        set_.setenv("PYTHONPATH", os.pathsep.join(sys.path))  # the tests' own modules, on the nodes
        set_.setenv("PYTHONWARNINGS", "")
        utils = pytest.importorskip("ray.cluster_utils")
        nodes = utils.Cluster(initialize_head=True, head_node_args=NODE | {"include_dashboard": False})
        try:
            nodes.add_node(**NODE)
            yield nodes
        finally:
            nodes.shutdown()


def where() -> str:
    """On which node this is done, after a while: long enough for others to be done elsewhere."""
    import ray

    time.sleep(0.5)
    return str(ray.get_runtime_context().get_node_id())


def stay(folder: Path, name: str) -> tuple[str, str]:
    """The first time until a node was killed, or for ever where it is this one; then at once. Gives name and node."""
    here = where()
    if diary(folder, name) == 1:
        (folder / f"{name} is on {here}").touch()
        while not (folder / "killed").exists() or (folder / "killed").read_text() == here:
            time.sleep(0.05)
    return name, here


def test_two_nodes_do_what_one_process_does(cluster: Any) -> None:
    """Both have work, and what a job refuses is heard as it is."""
    work: list[Any] = [*(partial(square, number) for number in range(8)), *[where] * 6]
    found = dict(each(work, Hands(cluster=cluster.address)))
    assert [found[number] for number in range(8)] == [number * number for number in range(8)]
    assert len({found[number] for number in range(8, 14)}) == 2
    with pytest.raises(BadInput, match=r"^log, row 7: bad in job 3; mend it$"):
        list(each([partial(refuse, 3)], Hands(cluster=cluster.address)))


def test_a_killed_worker_costs_only_its_job(cluster: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    work = [partial(slow, tmp_path, 2), partial(die_at_first, tmp_path, "killed"), partial(slow, tmp_path, 0, "third")]
    assert dict(each(work, Hands(cluster=cluster.address))) == {0: "slow", 1: "killed", 2: "third"}
    assert begun(tmp_path) == {"slow": 1, "killed": 2, "third": 1}
    assert not capfd.readouterr().out  # what Ray says of it is no result


def test_a_study_and_an_evaluation_are_those_of_one_process(cluster: Any, tmp_path: Path) -> None:
    """Paths are as on this machine, from where the command was given: all nodes see the same files."""
    log = log_file(tmp_path)
    found = []
    with pytest.MonkeyPatch.context() as there:
        there.chdir(tmp_path)
        for name, cluster_address in (("one", None), ("many", cluster.address)):
            study = Data("toy", (NamedPeople("a", (log.name,)), NamedPeople("b", (log.name,))))
            carry_out(study, Path(name), cluster=cluster_address)
            result = json.loads(Path(name, "result.json").read_text())
            question = fleet.Question(("mfu", "stap"), "stream")
            shards = fleet.filed(log.name, sources.Options(), launches=False)
            scored, _ = fleet.evaluate(shards, question, Hands(cluster=cluster_address))
            found.append((result["people"], scored.result("stream", question.terms)))
    assert json.dumps(found[0]) == json.dumps(found[1])


def test_a_killed_node_costs_only_its_job(cluster: Any, tmp_path: Path) -> None:
    """Two jobs, one on each node; the one that is not the head goes, and its job is done again on the other."""
    (victim,) = cluster.worker_nodes

    def kill() -> None:
        while len(list(tmp_path.glob("* is on *"))) < 2:
            time.sleep(0.05)
        cluster.remove_node(victim, allow_graceful=False)
        (tmp_path / "killed").write_text(victim.node_id)

    killer = Thread(target=kill)
    killer.start()
    found = dict(each([partial(stay, tmp_path, name) for name in "ab"], Hands(cluster=cluster.address)))
    killer.join()
    assert (found[0][0], found[1][0]) == ("a", "b")
    assert victim.node_id not in (found[0][1], found[1][1])
    on_it = {name: (tmp_path / f"{name} is on {victim.node_id}").exists() for name in "ab"}
    assert sorted(on_it.values()) == [False, True]
    assert {name: begun(tmp_path)[name] for name in "ab"} == {name: 1 + lost for name, lost in on_it.items()}


def test_no_cluster_is_one_clear_line() -> None:
    with pytest.raises(BadInput, match=r"^--cluster 127.0.0.1:1: no Ray cluster answers \(.*\); start one with `ray"):
        list(each([partial(square, 1), partial(square, 2)], Hands(cluster="127.0.0.1:1")))
