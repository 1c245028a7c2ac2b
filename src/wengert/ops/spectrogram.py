"""Short-time Fourier transforms: spectra of overlapping frames, and signals from them."""

from __future__ import annotations

from typing import Any

from wengert.core.dtypes import of_numpy
from wengert.core.messages import warn
from wengert.core.tensor import Tensor, memory_of
from wengert.ops.complexes import real, view_as_real
from wengert.ops.fourier import half_to_real, real_to_half, transform
from wengert.ops.padding import pad
from wengert.ops.shape import transpose
from wengert.ops.splitting import narrow
from wengert.ops.strided import overlap_add, unfold
from wengert.ops.variadic import require_tensor


def stft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    pad_mode: str = "reflect",
    normalized: bool = False,
    onesided: bool | None = None,
    return_complex: bool | None = None,
    align_to_window: bool | None = None,
) -> Tensor:
    """Spectra of frames of length `n_fft`, `hop_length` (a quarter of it) apart.

    The signal, alone or in a batch, gives (..., frequencies, frames). `center` pads it so that
    frame t is centred on sample ``t * hop_length``; without it, `align_to_window` counts frames
    by the length of the window. A window shorter than a frame is centred in it.

    >>> import wengert
    >>> window = wengert.hann_window(4)
    >>> wengert.stft(wengert.arange(8.0), 4, 2, window=window, return_complex=True).shape
    torch.Size([3, 5])
    """
    require_tensor("stft", "input", input)
    hop, win = _lengths("stft", n_fft, hop_length, win_length)
    if input.ndim not in (1, 2):
        raise RuntimeError(f"stft(): expected a 1D or 2D tensor, got shape {list(input.shape)}")
    if not of_numpy[input._outline.dtype].is_floating_point and not input.is_complex():
        raise RuntimeError(
            f"stft(): expected a tensor of floating point or complex values, got {input.dtype}"
        )
    has_complex = input.is_complex() or (window is not None and window.is_complex())
    complex_result = return_complex if return_complex is not None else has_complex
    if return_complex is None and not has_complex:
        raise RuntimeError(
            "stft requires the return_complex parameter be given for real inputs: True, or False"
            " for the parts in a last dimension"
        )
    half = not has_complex if onesided is None else onesided
    if half and has_complex:
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    frames = _frames(input, n_fft, hop, win, center, pad_mode, align_to_window)
    weights = _window("stft", window, n_fft, win, input)
    if weights is not None:
        frames = frames * weights
    norm = "ortho" if normalized else "backward"
    spectra = real_to_half(frames, (-1,), norm) if half else transform(frames, (-1,), norm, False)
    out = transpose(spectra, -1, -2)
    if complex_result:
        return out
    warn(
        "stft with return_complex=False is deprecated in PyTorch; use view_as_real() of the complex"
        " result"
    )
    return view_as_real(out)


def _lengths(
    name: str, n_fft: Any, hop_length: int | None, win_length: int | None
) -> tuple[int, int]:
    """The hop length and the window length."""
    if not isinstance(n_fft, int):
        raise TypeError(f"{name}(): argument 'n_fft' must be int, not {type(n_fft).__name__}")
    hop = n_fft // 4 if hop_length is None else hop_length
    win = n_fft if win_length is None else win_length
    if n_fft <= 0:
        raise RuntimeError(f"{name}(): expected n_fft > 0, but got n_fft={n_fft}")
    if hop <= 0:
        raise RuntimeError(f"{name}(): expected hop_length > 0, but got hop_length={hop}")
    if not 0 < win <= n_fft:
        raise RuntimeError(
            f"{name}(): expected 0 < win_length <= n_fft, but got win_length={win}, n_fft={n_fft}"
        )
    return hop, win


def _frames(
    input: Tensor, n_fft: int, hop: int, win: int, center: bool, pad_mode: str,
    align_to_window: bool | None,
) -> Tensor:  # fmt: skip
    """The frames of a signal, in the last two dimensions."""
    ends = (0, 0)
    if center:
        if align_to_window is not None:
            raise RuntimeError(
                "stft align_to_window should only be set when center = false; got"
                f" align_to_window={align_to_window}"
            )
        ends = (n_fft // 2, n_fft // 2)
    elif align_to_window:
        ends, pad_mode = _around(n_fft, win), "constant"
    if any(ends):
        alone = input.ndim == 1
        batch = pad(input[None] if alone else input, ends, pad_mode)
        input = batch[0] if alone else batch
    if n_fft > input.shape[-1]:
        raise RuntimeError(
            f"stft(): expected 0 < n_fft <= {input.shape[-1]} (the length of the signal), but got"
            f" n_fft={n_fft}"
        )
    return unfold(input, -1, n_fft, hop)


def _around(n_fft: int, win: int) -> tuple[int, int]:
    """The samples of a frame before and after its window."""
    return (n_fft - win) // 2, n_fft - win - (n_fft - win) // 2


def _window(name: str, window: Tensor | None, n_fft: int, win: int, like: Tensor) -> Tensor | None:
    """The weights of a frame; None if all are one."""
    if window is None:
        warn(
            "A window was not provided. A rectangular window will be applied, which is known to"
            " cause spectral leakage; hann_window() makes a common one"
        )
        if win == n_fft:
            return None
        window = real(like).new_ones(win)
    require_tensor(name, "window", window)
    if window.shape != (win,):
        raise RuntimeError(
            f"{name}(): expected a 1D window tensor of size equal to win_length={win}, but got"
            f" window with size {list(window.shape)}"
        )
    return window if win == n_fft else pad(window, _around(n_fft, win))


def istft(
    input: Tensor,
    n_fft: int,
    hop_length: int | None = None,
    win_length: int | None = None,
    window: Tensor | None = None,
    center: bool = True,
    normalized: bool = False,
    onesided: bool | None = None,
    length: int | None = None,
    return_complex: bool = False,
) -> Tensor:
    """The signal whose `stft` comes closest to `input`; its inverse, with the same arguments.

    >>> import wengert
    >>> x, window = wengert.arange(8.0), wengert.hann_window(4)
    >>> spectra = wengert.stft(x, 4, 2, window=window, return_complex=True)
    >>> wengert.istft(spectra, 4, 2, window=window)
    tensor([0., 1., 2., 3., 4., 5., 6., 7.])
    """
    require_tensor("istft", "input", input)
    hop, win = _lengths("istft", n_fft, hop_length, win_length)
    if hop > win:
        raise RuntimeError(
            f"istft(): expected 0 < hop_length <= win_length, but got {hop} and {win}"
        )
    half = _checked_spectra(input, n_fft, onesided)
    if half and (return_complex or (window is not None and window.is_complex())):
        raise RuntimeError("Cannot have onesided output if window or input is complex")
    if window is not None and window.is_complex() and not return_complex:
        raise RuntimeError("Complex windows are incompatible with return_complex=False")
    weights = _window("istft", window, n_fft, win, input)
    norm = "ortho" if normalized else "backward"
    spectra = transpose(input, -1, -2)
    if return_complex:
        frames = transform(spectra, (-1,), norm, True)
    else:  # the second half is redundant
        first_half = narrow(spectra, -1, 0, n_fft // 2 + 1)
        frames = half_to_real(first_half, (-1,), n_fft, norm)
    total = n_fft + hop * (input.shape[-1] - 1)
    first = n_fft // 2 if center else 0
    last = total - first if length is None else min(first + length, total)
    out = _overlapped(frames, weights, hop, total, first, last)
    if length is None or length <= last - first:
        return out
    warn(
        f"The length of signal is shorter than the length parameter: {last - first} samples are"
        f" continued by zeros to {length}"
    )
    return pad(out, (0, length - (last - first)))


def _overlapped(
    frames: Tensor, weights: Tensor | None, hop: int, total: int, first: int, last: int
) -> Tensor:
    """Samples `first` to `last` of the weighted mean of frames where they overlap."""
    count, n_fft = frames.shape[-2:]
    if weights is None:
        weights = real(frames).new_ones(n_fft)
    summed = overlap_add(frames * weights, (*frames.shape[:-2], total), -1, n_fft, hop)
    squares = (weights * weights).expand(count, n_fft)
    envelope = narrow(
        overlap_add(squares, (total,), -1, n_fft, hop), 0, first, max(last - first, 0)
    )
    if envelope._memoryless:
        raise NotImplementedError(
            "istft() of tensors on the meta device: whether the window covers all samples depends"
            " on its elements, and there are none"
        )
    least = abs(memory_of(envelope)).min(initial=0.0 if last <= first else float("inf"))
    if not least > 1e-11:
        raise RuntimeError(
            f"istft(): window overlap add min: {least}. Some samples lie under no window:"
            f" n_fft={n_fft}, hop_length={hop}"
        )
    return narrow(summed, -1, first, last - first) / envelope


def _checked_spectra(input: Tensor, n_fft: int, onesided: bool | None) -> bool:
    """Whether there is half of each spectrum; RuntimeError if it is not an output of `stft`."""
    if not input.is_complex():
        raise RuntimeError(
            "istft requires a complex-valued input tensor matching the output from stft with"
            f" return_complex=True; got {input.dtype}"
        )
    shape = list(input.shape)
    if len(shape) < 2:
        raise IndexError(f"istft(): expected a tensor with 2 or 3 dimensions, got shape {shape}")
    if 0 in shape:
        raise RuntimeError(f"istft(): input tensor cannot be empty; it has shape {shape}")
    if len(shape) > 3:
        raise RuntimeError(f"istft(): expected a tensor with 2 or 3 dimensions, got shape {shape}")
    half = shape[-2] != n_fft if onesided is None else onesided
    expected = n_fft // 2 + 1 if half else n_fft
    if shape[-2] != expected:
        raise RuntimeError(
            "istft(): expected the frequency dimension of the input to match"
            f" {'n_fft / 2 + 1' if half else 'n_fft'} = {expected} when onesided={half}, but got"
            f" {shape[-2]}"
        )
    return half


__all__ = ["istft", "stft"]
FUNCTIONAL: tuple[str, ...] = ()
METHODS = ("istft", "stft")
INPLACE: tuple[str, ...] = ()
