"""Animated GIFs of games; import this module only where one is written."""

import io
import zlib
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from .canvas import CARD

COLORS = 128  # few colors make small files; one more is used for the pixels that do not change
SAMPLED_FRAMES = 24  # whose colors make up the palette


@dataclass
class Animation:
    """The frames of an animation, compressed until it is encoded: games can have hundreds."""

    width: int | None = None  # pixels; None: that of the pictures
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
        """Return a frame in its final size; smaller pictures are at the top left, as those of text may differ."""
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
