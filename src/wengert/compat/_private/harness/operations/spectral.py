"""Fourier transforms and windows."""

from __future__ import annotations

from functools import partial

import numpy as np

from wengert.compat._private.harness.operations.families import SpectralFuncInfo, SpectralFuncType
from wengert.compat._private.harness.operations.letters import (
    EVERY,
    REALS_WIDE,
)
from wengert.compat._private.harness.operations.recipes import T, on, op
from wengert.compat._private.harness.operations.records import OpInfo

spectral = partial(op, kind=SpectralFuncInfo)


SPECTRAL: list[OpInfo] = [
    spectral(
        "fft.fft",
        "buiswlfdcD",
        on(T(5)),
        on(T(3, 4), n=6, dim=0),
        on(T(3, 4), norm="ortho"),
        ndimensional=SpectralFuncType.OneD,
        ref=np.fft.fft,
    ),
    spectral(
        "fft.ifft",
        "buiswlfdcD",
        on(T(5)),
        on(T(3, 4), n=6, dim=0),
        on(T(3, 4), norm="ortho"),
        ndimensional=SpectralFuncType.OneD,
        ref=np.fft.ifft,
    ),
    spectral(
        "fft.rfft",
        REALS_WIDE,
        on(T(5)),
        on(T(3, 4), n=6, dim=0),
        on(T(3, 4), norm="ortho"),
        ndimensional=SpectralFuncType.OneD,
        ref=np.fft.rfft,
    ),
    spectral(
        "fft.irfft",
        "buiswlfdcD",
        on(T(5)),
        on(T(3, 4), n=6, dim=0),
        on(T(3, 4), norm="ortho"),
        ndimensional=SpectralFuncType.OneD,
        ref=np.fft.irfft,
    ),
    spectral(
        "fft.hfft",
        "buiswlfdcD",
        on(T(5)),
        on(T(3, 4), n=6, dim=0),
        on(T(3, 4), norm="ortho"),
        ndimensional=SpectralFuncType.OneD,
        ref=np.fft.hfft,
    ),
    spectral(
        "fft.ihfft",
        REALS_WIDE,
        on(T(5)),
        on(T(3, 4), n=6, dim=0),
        on(T(3, 4), norm="ortho"),
        ndimensional=SpectralFuncType.OneD,
        ref=np.fft.ihfft,
    ),
    spectral(
        "fft.fft2",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), s=(4, 2), norm="forward"),
        ndimensional=SpectralFuncType.TwoD,
        ref=np.fft.fft2,
    ),
    spectral(
        "fft.ifft2",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), s=(4, 2), norm="forward"),
        ndimensional=SpectralFuncType.TwoD,
        ref=np.fft.ifft2,
    ),
    spectral(
        "fft.rfft2",
        REALS_WIDE,
        on(T(3, 4)),
        on(T(2, 3, 4), s=(4, 2), norm="forward"),
        ndimensional=SpectralFuncType.TwoD,
        ref=np.fft.rfft2,
    ),
    spectral(
        "fft.irfft2",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), s=(4, 2), norm="forward"),
        ndimensional=SpectralFuncType.TwoD,
        ref=np.fft.irfft2,
    ),
    spectral(
        "fft.hfft2",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), s=(4, 2), norm="forward"),
        ndimensional=SpectralFuncType.TwoD,
    ),
    spectral(
        "fft.ihfft2",
        REALS_WIDE,
        on(T(3, 4)),
        on(T(2, 3, 4), s=(4, 2), norm="forward"),
        ndimensional=SpectralFuncType.TwoD,
    ),
    spectral(
        "fft.fftn",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), dim=(0, 2)),
        ndimensional=SpectralFuncType.ND,
        ref=np.fft.fftn,
    ),
    spectral(
        "fft.ifftn",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), dim=(0, 2)),
        ndimensional=SpectralFuncType.ND,
        ref=np.fft.ifftn,
    ),
    spectral(
        "fft.rfftn",
        REALS_WIDE,
        on(T(3, 4)),
        on(T(2, 3, 4), dim=(0, 2)),
        ndimensional=SpectralFuncType.ND,
        ref=np.fft.rfftn,
    ),
    spectral(
        "fft.irfftn",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), dim=(0, 2)),
        ndimensional=SpectralFuncType.ND,
        ref=np.fft.irfftn,
    ),
    spectral(
        "fft.hfftn",
        "buiswlfdcD",
        on(T(3, 4)),
        on(T(2, 3, 4), dim=(0, 2)),
        ndimensional=SpectralFuncType.ND,
    ),
    spectral(
        "fft.ihfftn",
        REALS_WIDE,
        on(T(3, 4)),
        on(T(2, 3, 4), dim=(0, 2)),
        ndimensional=SpectralFuncType.ND,
    ),
    op("fft.fftshift", EVERY, on(T(5)), on(T(3, 4), dim=1), no="out"),
    op("fft.ifftshift", EVERY, on(T(5)), on(T(3, 4), dim=1), no="out"),
]

__all__ = ["SPECTRAL"]
