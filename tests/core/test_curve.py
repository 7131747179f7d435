from pathlib import Path

from src.core.curve import draw_curve


def test_a_picture_is_drawn_where_there_is_something_to_draw(tmp_path: Path):
    path = tmp_path / "curve.png"
    assert not draw_curve(path, [], [], {"random": 0.1})
    assert not path.exists()
    assert draw_curve(path, [1, 2], [0.1, 0.5], {"random": 0.1})
    assert path.read_bytes().startswith(b"\x89PNG")
