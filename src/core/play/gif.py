"""Animated GIFs of games; import this module only where one is written."""

import io
import zlib
from dataclasses import dataclass, field

import numpy as np
from PIL import Image

from src.core.play.canvas import CARD

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
        drawn = map(self._frame, range(len(self)))
        frames = (frame.quantize(palette=palette, dither=Image.Dither.NONE) for frame in drawn)
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

    def _palette(self) -> Image.Image:
        """Return a palette of the most frequent colors, one for each group of similar ones.

        Thus areas of one color keep it exactly, and all frames have the same colors, so that only changes are stored.
        """
        sample = np.unique(np.linspace(0, len(self) - 1, SAMPLED_FRAMES, dtype=int))
        values = np.concatenate([np.asarray(self._frame(int(k))).reshape(-1, 3) for k in sample])
        codes = values.astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
        colors, counts = np.unique(codes, return_counts=True)
        colors = colors[np.argsort(-counts, kind="stable")]
        _, firsts = np.unique(colors & 0xF0F0F0, return_index=True)
        chosen = colors[np.sort(firsts)][:COLORS]
        palette = Image.new("P", (1, 1))
        palette.putpalette([int(code) >> shift & 255 for code in chosen for shift in (16, 8, 0)])
        return palette
