"""Pictures of positions, drawn with Pillow; import this module only where a picture is drawn.

Shapes are drawn enlarged and scaled down at the end, which smooths their edges.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

# The light theme of the web pages. The palette of Okabe and Ito is safe for color-blind readers.
YELLOW, GREEN, FIRST, SECOND = "#F0E442", "#009E73", "#0072B2", "#D55E00"  # the last two: the players
CARD, INK, FAINT, EDGE, CELL = "#ffffff", "#1c2430", "#6a7482", "#d5dae1", "#ffffff"
CLOSED, CLOSED_EDGE = "#c3cddb", "#aab7c9"

Point = tuple[float, float]

SAMPLES = 4  # per pixel, in each direction
MAX_SIDE = 1200  # pixels; larger drawings are scaled down
SMALLEST_TEXT = 3  # pixels; smaller text is left out
TEXT_SIZE, TEXT_MARGIN = 16, 12  # of `text_image`, in pixels


def mix(color: str, other: str, share: float) -> str:
    """Blend two colors; `share` is that of the first."""
    pairs = zip(_channels(color), _channels(other), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


def _channels(color: str) -> bytes:
    return bytes.fromhex(color[1:])


@lru_cache(maxsize=64)
def _font(name: str, size: int) -> ImageFont.FreeTypeFont:
    import matplotlib  # for its fonts, which are the same on every machine

    return ImageFont.truetype(Path(matplotlib.get_data_path(), "fonts", "ttf", f"{name}.ttf"), size)


class Canvas:
    """A drawing with its origin at the top left; a unit is a pixel of the result, unless that would be too large."""

    def __init__(self, width: float, height: float, background: str = CARD) -> None:
        zoom = min(1.0, MAX_SIDE / max(width, height))
        self._size = round(width * zoom), round(height * zoom)
        self._scale = zoom * SAMPLES
        self._begin(Image.new("RGB", (self._size[0] * SAMPLES, self._size[1] * SAMPLES), background))

    def _begin(self, image: Image.Image) -> None:
        self._image, self._draw = image, ImageDraw.Draw(image)

    def copy(self) -> "Canvas":
        """Return a copy to draw on; used for backgrounds that do not change."""
        other = object.__new__(Canvas)
        other._size, other._scale = self._size, self._scale
        other._begin(self._image.copy())
        return other

    def pixels(self) -> np.ndarray:
        """Return the picture, (H, W, 3) uint8."""
        return np.asarray(self._image.reduce(SAMPLES))

    def rect(
        self, box: tuple[float, float, float, float], fill: str, radius: float = 0.0, edge: str | None = None
    ) -> None:
        """Draw a rectangle (x, y, width, height), with an edge of one unit."""
        x, y, width, height = (number * self._scale for number in box)
        corners = (x, y, max(x + width - 1, x), max(y + height - 1, y))
        self._draw.rounded_rectangle(corners, radius * self._scale, fill, edge, self._width(1 if edge else 0))

    def circle(
        self, at: Point, radius: float, fill: str | None, edge: str | None = None, edge_width: float = 0.0
    ) -> None:
        x, y, r = (number * self._scale for number in (*at, radius + edge_width / 2))
        self._draw.ellipse((x - r, y - r, x + r, y + r), fill, edge, self._width(edge_width))

    def polygon(self, points: Sequence[Point], fill: str | None, edge: str | None = None, width: float = 1.0) -> None:
        if fill is not None:
            self._draw.polygon([self._at(point) for point in points], fill)
        if edge is not None:
            self.line([*points, points[0]], edge, width)

    def line(self, points: Sequence[Point], color: str, width: float) -> None:
        """Draw a line with round joints and ends."""
        self._draw.line([self._at(point) for point in points], color, self._width(width))
        if width * self._scale >= SAMPLES:
            for point in points:
                self.circle(point, width / 2, color)

    def dashes(self, start: Point, end: Point, color: str, width: float, period: float) -> None:
        """Draw a dashed line whose dashes are as long as the gaps."""
        length = float(np.hypot(end[0] - start[0], end[1] - start[1]))
        count = max(round(length / period), 1)
        for k in range(count):
            a, b = ((k + part) / count for part in (0.25, 0.75))
            ends = [(start[0] + (end[0] - start[0]) * t, start[1] + (end[1] - start[1]) * t) for t in (a, b)]
            self.line(ends, color, width)

    def text(self, at: Point, text: str, size: float, color: str = INK, anchor: str = "mm", bold: bool = True) -> None:
        """Write a line of text; `anchor` is that of Pillow, by default the centre."""
        pixels = round(size * self._scale)
        if pixels >= SMALLEST_TEXT * SAMPLES:
            self._draw.text(
                self._at(at), text, color, _font("DejaVuSans-Bold" if bold else "DejaVuSans", pixels), anchor
            )

    def _at(self, point: Point) -> Point:
        return point[0] * self._scale, point[1] * self._scale

    def _width(self, width: float) -> int:
        return max(round(width * self._scale), 1) if width else 0


def text_image(text: str) -> np.ndarray:
    """Draw text in a monospaced font, (H, W, 3) uint8."""
    font = _font("DejaVuSansMono", TEXT_SIZE)
    lines = text.split("\n")
    ascent, descent = font.getmetrics()
    step = ascent + descent
    width = max(round(font.getlength(line)) for line in lines)
    image = Image.new("RGB", (width + 2 * TEXT_MARGIN, len(lines) * step + 2 * TEXT_MARGIN), CARD)
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((TEXT_MARGIN, TEXT_MARGIN + number * step), line, INK, font)
    return np.asarray(image)
