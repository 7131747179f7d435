"""Pictures and animations of positions, drawn with Pillow; import this module only where one is drawn.

Shapes are drawn enlarged and scaled down at the end, which smooths their edges.
"""

import io
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
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
COLORS = 128  # few colors make small files; one more is used for the pixels that do not change
SAMPLED_FRAMES = 24  # whose colors make up the palette


def mix(color: str, other: str, share: float) -> str:
    """Blend two colors; `share` is the weight of the first."""
    pairs = zip(bytes.fromhex(color[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + "".join(f"{round(share * a + (1 - share) * b):02x}" for a, b in pairs)


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
        """Write a line of text; `anchor` is one of Pillow, by default the center."""
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


@dataclass
class Animation:
    """The frames of an animation, compressed until it is encoded: games can have hundreds."""

    width: int | None = None  # pixels; None: as wide as the pictures
    _frames: list[tuple[tuple[int, int], bytes]] = field(default_factory=list)  # size and RGB values
    _seconds: list[float] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self._frames)

    def add(self, pixels: np.ndarray, seconds: float) -> None:
        """Append a picture (H, W, 3) uint8 that is shown for some time."""
        height, width, _ = pixels.shape
        self._frames.append(((width, height), zlib.compress(pixels.tobytes(), 1)))
        self._seconds.append(seconds)

    def hold(self, seconds: float) -> None:
        """Show the latest frame for this time instead."""
        self._seconds[-1] = seconds

    def encode(self) -> bytes:
        """Return the GIF, which repeats forever. Consecutive frames that are equal are stored once."""
        palette, buffer = self._palette(), io.BytesIO()
        frames = map(_Quantizer(palette), map(self._frame, range(len(self))))
        milliseconds = [10 * max(round(100 * seconds), 1) for seconds in self._seconds]  # a GIF counts in 10 ms
        next(frames).save(buffer, "GIF", save_all=True, append_images=frames, duration=milliseconds, loop=0)
        return buffer.getvalue()

    def _frame(self, number: int) -> Image.Image:
        """Return a frame in its final size; smaller pictures, such as of text, are at the top left."""
        widths, heights = zip(*(size for size, _ in self._frames), strict=True)
        full = Image.new("RGB", (max(widths), max(heights)), CARD)
        size, data = self._frames[number]
        full.paste(Image.frombytes("RGB", size, zlib.decompress(data)))
        if self.width is None:
            return full
        return full.resize((self.width, max(round(full.height * self.width / full.width), 1)), Image.Resampling.HAMMING)

    def _palette(self) -> np.ndarray:
        """Return the most frequent colors, one for each group of similar ones, as codes.

        Thus areas of one color keep it exactly, and all frames have the same colors, so that only changes are stored.
        """
        sample = np.unique(np.linspace(0, len(self) - 1, SAMPLED_FRAMES, dtype=int))
        codes = np.concatenate([_codes(self._frame(int(k))).ravel() for k in sample])
        colors, counts = np.unique(codes, return_counts=True)
        colors = colors[np.argsort(-counts, kind="stable")]
        _, firsts = np.unique(colors & 0xF0F0F0, return_index=True)
        chosen: np.ndarray = colors[np.sort(firsts)][:COLORS]
        return chosen


class _Quantizer:
    """Converts images to a palette, each color to the nearest; Pillow's own conversion is only approximate."""

    def __init__(self, palette: np.ndarray) -> None:
        self._palette = _channels(palette)
        self._nearest = np.full(1 << 24, COLORS, np.uint8)  # by code; COLORS: not computed yet

    def __call__(self, image: Image.Image) -> Image.Image:
        codes = _codes(image)
        new = np.unique(codes[self._nearest[codes] == COLORS])
        for part in np.array_split(new, len(new) // 4096 + 1):  # to limit the memory of the distances
            apart = _channels(part)[:, None].astype(np.int32) - self._palette
            self._nearest[part] = (apart**2).sum(axis=2).argmin(axis=1)
        result = Image.fromarray(self._nearest[codes])
        result.putpalette(self._palette.astype(np.uint8).tobytes())
        return result


def _codes(image: Image.Image) -> np.ndarray:
    """Return each pixel of an image as a number 0xRRGGBB, (H, W) uint32."""
    return np.asarray(image).astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)


def _channels(codes: np.ndarray) -> np.ndarray:
    return codes[:, None] >> np.array([16, 8, 0], np.uint32) & 255
