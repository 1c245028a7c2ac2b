"""What the sweep measures: samples of the functions and layers that scripts use, by family."""

from __future__ import annotations

from sweeps import (
    algebra,
    drawing,
    elementwise,
    images,
    indexing,
    layers,
    networks,
    reducing,
    shapes,
    strided,
)
from sweeps._sample import Sample

FAMILIES: dict[str, list[Sample]] = {
    "elementwise": elementwise.FAMILY,
    "reducing": reducing.FAMILY,
    "indexing": indexing.FAMILY,
    "shapes": shapes.FAMILY,
    "strided": strided.FAMILY,
    "drawing": drawing.FAMILY,
    "algebra": algebra.FAMILY,
    "networks": networks.FAMILY,
    "layers": layers.FAMILY,
    "images": images.FAMILY,
}
BY_NAME = {sample.name: sample for family in FAMILIES.values() for sample in family}
