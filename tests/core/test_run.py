import pytest

from src.core.errors import LabError
from src.core.run import Run

CONFIG = {"seed": 3, "checkpoint_seconds": 1e9, "composition": {}}


def test_a_run_goes_back_to_what_was_saved_last(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        assert run.restore() is None
        run.log(1, {"train/td_error": 1.0})
        run.save_best(0.5, {"weights": 1})
        run.save({"weights": 2})
        run.log(2, {"train/td_error": 2.0})
    with Run(tmp_path, CONFIG, None) as again:
        assert again.restore() == {"weights": 2}
        assert (tmp_path / "metrics.csv").read_text().count("\n") == 2
        again.save_best(0.4, {"weights": 3})
        assert again.best() == {"weights": 1}
        again.save_best(0.5, {"weights": 4})
        assert again.best() == {"weights": 4}, "of equal scores the newest has learned for longest"
        again.save_best(0.6, {"weights": 5})
        assert again.best() == {"weights": 5}


def test_a_run_killed_before_its_first_checkpoint_begins_again(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.log(1, {"train/td_error": 1.0})
    with Run(tmp_path, CONFIG, None) as again:
        assert again.restore() is None
        again.log(1, {"train/td_error": 1.5})
    assert (tmp_path / "metrics.csv").read_text().count("\n") == 2


def test_seconds_go_on_where_they_were(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run._began -= 100
        run.save({})
    with Run(tmp_path, CONFIG, None) as again:
        again.restore()
        assert again.seconds >= 100


def test_saving_is_due_by_time(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.save_when_due(lambda: {"step": 1})
        assert not (tmp_path / "checkpoints").exists()
        run._saved -= 2e9
        run.save_when_due(lambda: {"step": 2})
    with Run(tmp_path, CONFIG, None) as again:
        assert again.restore() == {"step": 2}


def test_two_processes_cannot_share_a_directory(tmp_path):
    with Run(tmp_path, CONFIG, None), pytest.raises(LabError, match="another process"), Run(tmp_path, CONFIG, None):
        pass


def test_a_checkpoint_of_another_configuration_is_refused(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.save({})
        run.save_best(0.5, {})
    with pytest.raises(LabError, match="does not belong"), Run(tmp_path, CONFIG | {"seed": 4}, None):
        pass
    (tmp_path / "checkpoints" / "best.safetensors").replace(tmp_path / "checkpoints" / "last.safetensors")
    with pytest.raises(LabError, match="does not belong"), Run(tmp_path, CONFIG, None):
        pass


def test_the_tracker_is_told_how_a_run_ended(tmp_path):
    class Tracker:
        def __init__(self):
            self.ends = []

        def start(self, directory, config):
            pass

        def log(self, row):
            pass

        def picture(self, name, path):
            pass

        def results(self, directory, result):
            pass

        def finish(self, failed):
            self.ends.append(failed)

    tracker = Tracker()
    with Run(tmp_path, CONFIG, tracker):
        pass
    with pytest.raises(RuntimeError), Run(tmp_path, CONFIG, tracker):
        raise RuntimeError
    assert tracker.ends == [False, True]


def test_lost_rows_are_noticed(tmp_path):
    with Run(tmp_path, CONFIG, None) as run:
        run.log(1, {"train/td_error": 1.0})
        run.save({})
    (tmp_path / "metrics.csv").unlink()
    with Run(tmp_path, CONFIG, None) as again, pytest.raises(LabError, match="has lost rows"):
        again.restore()


def test_named_generators_come_from_the_seed(tmp_path):
    run = Run(tmp_path, CONFIG, None)
    assert run.generator("a").random() == run.generator("a").random() != run.generator("b").random()
