"""The writers: `SummaryWriter` for what programs log, `FileWriter` for a file of events."""

from __future__ import annotations

import os
import socket
import time
import warnings
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from wengert.core.tensor import Tensor
from wengert.utils.tensorboard import _embedding, summary
from wengert.utils.tensorboard._arrays import figure_image, logged_array
from wengert.utils.tensorboard._packages import proto, tensorboard

__all__ = ["FileWriter", "SummaryWriter"]

_SMALLEST_BIN, _LARGEST_BIN, _STEP_OF_BINS = 1e-12, 1e20, 1.1


def _default_bins() -> list[float]:
    """TensorFlow's: each a tenth wider than the one before, on both sides of zero."""
    limits, limit = [], _SMALLEST_BIN
    while limit < _LARGEST_BIN:
        limits.append(limit)
        limit *= _STEP_OF_BINS
    return [*(-limit for limit in reversed(limits)), 0, *limits]


class FileWriter:
    """Writes events into a file of its own in a folder, on a thread.

    Raises ModuleNotFoundError without the package tensorboard.

    >>> import os, tempfile
    >>> from wengert.utils.tensorboard import FileWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer = FileWriter(os.path.join(folder, "first"))
    ...     writer.close()
    ...     os.listdir(folder)
    ['first']
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        files = tensorboard("summary.writer.event_file_writer")
        self.event_writer = files.EventFileWriter(
            str(log_dir), max_queue, flush_secs, filename_suffix
        )

    def get_logdir(self) -> str:
        """The folder."""
        folder: str = self.event_writer.get_logdir()
        return folder

    def add_event(self, event: Any, step: int | None = None, walltime: float | None = None) -> None:
        """Write an event, of now unless a time is passed."""
        event.wall_time = time.time() if walltime is None else walltime
        if step is not None:
            event.step = int(step)
        self.event_writer.add_event(event)

    def add_summary(
        self, summary: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        """Write a summary."""
        self.add_event(proto("event").Event(summary=summary), global_step, walltime)

    def add_graph(self, graph_profile: tuple[Any, Any], walltime: float | None = None) -> None:
        """Write a graph, and what is known about a run of it."""
        graph, run = graph_profile
        self.add_onnx_graph(graph, walltime)
        message = proto("event").TaggedRunMetadata(
            tag="step1", run_metadata=run.SerializeToString()
        )
        self.add_event(proto("event").Event(tagged_run_metadata=message), None, walltime)

    def add_onnx_graph(self, graph: Any, walltime: float | None = None) -> None:
        """Write a graph."""
        event = proto("event").Event(graph_def=graph.SerializeToString())
        self.add_event(event, None, walltime)

    def flush(self) -> None:
        """Write what waits."""
        self.event_writer.flush()

    def close(self) -> None:
        """Write what waits, and close the file."""
        self.event_writer.close()

    def reopen(self) -> None:
        """Open the file again."""
        self.event_writer.reopen()


class SummaryWriter:
    """Logs what TensorBoard shows: scalars, histograms, images, texts, graphs, embeddings.

    The folder is by default a new one in ``runs``. What a call logs has a tag, and a step if it
    is part of a course. Raises ModuleNotFoundError without the package tensorboard. As a context
    it is closed at the end.

    >>> import os, tempfile
    >>> from wengert.utils.tensorboard import SummaryWriter
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with SummaryWriter(folder) as writer:
    ...         writer.add_scalar("loss", 0.5, 0)
    ...     len(os.listdir(folder))
    1
    """

    def __init__(
        self,
        log_dir: str | os.PathLike[str] | None = None,
        comment: str = "",
        purge_step: int | None = None,
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str = "",
    ) -> None:
        if not log_dir:
            started = datetime.now().strftime("%b%d_%H-%M-%S")
            log_dir = os.path.join("runs", f"{started}_{socket.gethostname()}{comment}")
        self.log_dir = log_dir
        self.purge_step = purge_step
        self.max_queue = max_queue
        self.flush_secs = flush_secs
        self.filename_suffix = filename_suffix
        self.file_writer: FileWriter | None = None
        self.all_writers: dict[str, FileWriter] | None = None
        self.default_bins = _default_bins()
        self._embeddings: list[Any] = []
        self._get_file_writer()

    def _get_file_writer(self) -> FileWriter:
        """The writer of the run's own file, a new one after `close`."""
        if self.file_writer is None:
            self.file_writer = self._new_writer(self.log_dir)
            self.all_writers = {self.file_writer.get_logdir(): self.file_writer}
            if self.purge_step is not None:
                events = proto("event")
                start = events.SessionLog(status=events.SessionLog.START)
                for field in ({"file_version": "brain.Event:2"}, {"session_log": start}):
                    self.file_writer.add_event(events.Event(step=self.purge_step, **field))
                self.purge_step = None
        return self.file_writer

    def _new_writer(self, folder: str | os.PathLike[str]) -> FileWriter:
        return FileWriter(folder, self.max_queue, self.flush_secs, self.filename_suffix)

    def _add(
        self, message: Any, global_step: int | None = None, walltime: float | None = None
    ) -> None:
        self._get_file_writer().add_summary(message, global_step, walltime)

    def get_logdir(self) -> str | os.PathLike[str]:
        """The folder."""
        return self.log_dir

    def add_hparams(
        self,
        hparam_dict: dict[str, Any],
        metric_dict: dict[str, Any],
        hparam_domain_discrete: dict[str, list[Any]] | None = None,
        run_name: str | None = None,
        global_step: int | None = None,
    ) -> None:
        """Log hyperparameters and the metrics reached with them, as a run of their own.

        Raises TypeError for arguments that are no dicts, or for a choice of another type than
        the hyperparameter, ValueError for a hyperparameter that is no number, string or tensor.
        """
        messages = summary.hparams(hparam_dict, metric_dict, hparam_domain_discrete)
        folder = os.path.join(self._get_file_writer().get_logdir(), run_name or str(time.time()))
        with SummaryWriter(log_dir=folder) as writer:
            for message in messages:
                writer._add(message, global_step)
            for tag, value in metric_dict.items():
                writer.add_scalar(tag, value, global_step)

    def add_scalar(
        self,
        tag: str,
        scalar_value: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        new_style: bool = False,
        double_precision: bool = False,
    ) -> None:
        """Log a number.

        Raises AssertionError for more than one element, NotImplementedError for what is no
        number, array or tensor.
        """
        message = summary.scalar(
            tag, scalar_value, new_style=new_style, double_precision=double_precision
        )
        self._add(message, global_step, walltime)

    def add_scalars(
        self,
        main_tag: str,
        tag_scalar_dict: Mapping[str, Any],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log several numbers for one chart, each in a folder of its own."""
        walltime = time.time() if walltime is None else walltime
        folder = self._get_file_writer().get_logdir()
        writers = self.all_writers
        assert writers is not None  # opened with the run's file
        for tag, value in tag_scalar_dict.items():
            path = f"{folder}/{main_tag.replace('/', '_')}_{tag}"
            if path not in writers:
                writers[path] = self._new_writer(path)
            writers[path].add_summary(summary.scalar(main_tag, value), global_step, walltime)

    def add_tensor(
        self,
        tag: str,
        tensor: Tensor,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a tensor. Raises ValueError for a dtype that TensorBoard lacks, or 2 GB."""
        self._add(summary.tensor_proto(tag, tensor), global_step, walltime)

    def add_histogram(
        self,
        tag: str,
        values: Any,
        global_step: int | None = None,
        bins: Any = "tensorflow",
        walltime: float | None = None,
        max_bins: int | None = None,
    ) -> None:
        """Log the distribution of some values; `bins` is as for ``numpy.histogram``.

        Raises ValueError without values.
        """
        if isinstance(bins, str) and bins == "tensorflow":
            bins = self.default_bins
        self._add(summary.histogram(tag, values, bins, max_bins), global_step, walltime)

    def add_histogram_raw(
        self,
        tag: str,
        min: float,
        max: float,
        num: int,
        sum: float,
        sum_squares: float,
        bucket_limits: Sequence[float],
        bucket_counts: Sequence[float],
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a histogram that has been computed already; each bin has its upper limit.

        Raises ValueError unless there are as many limits as counts.
        """
        if len(bucket_limits) != len(bucket_counts):
            raise ValueError(
                f"bucket_counts: expected one for each of {len(bucket_limits)} bucket_limits, got"
                f" {len(bucket_counts)}"
            )
        message = summary.histogram_raw(
            tag, min, max, num, sum, sum_squares, bucket_limits, bucket_counts
        )
        self._add(message, global_step, walltime)

    def add_image(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "CHW",
    ) -> None:
        """Log an image of bytes, or of floats from 0 to 1.

        Raises AssertionError where `dataformats` does not fit the shape.
        """
        self._add(summary.image(tag, img_tensor, dataformats=dataformats), global_step, walltime)

    def add_images(
        self,
        tag: str,
        img_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        dataformats: str = "NCHW",
    ) -> None:
        """Log images, eight in a row; otherwise as `add_image`."""
        self.add_image(tag, img_tensor, global_step, walltime, dataformats)

    def add_image_with_boxes(
        self,
        tag: str,
        img_tensor: Any,
        box_tensor: Any,
        global_step: int | None = None,
        walltime: float | None = None,
        rescale: float = 1,
        dataformats: str = "CHW",
        labels: str | Sequence[str] | None = None,
    ) -> None:
        """Log an image with boxes: rows of left, top, right and bottom, in pixels.

        Labels are left out unless there is one for each box.
        """
        labels = [labels] if isinstance(labels, str) else labels
        if labels is not None and len(labels) != box_tensor.shape[0]:
            labels = None
        message = summary.image_boxes(tag, img_tensor, box_tensor, rescale, dataformats, labels)
        self._add(message, global_step, walltime)

    def add_figure(
        self,
        tag: str,
        figure: Any,
        global_step: int | None = None,
        close: bool = True,
        walltime: float | None = None,
    ) -> None:
        """Log a figure of Matplotlib's, or a list of figures of one size, and close them."""
        if isinstance(figure, list):
            images = np.stack([figure_image(each, close) for each in figure])
            self.add_images(tag, images, global_step, walltime)
        else:
            self.add_image(tag, figure_image(figure, close), global_step, walltime)

    def add_video(
        self,
        tag: str,
        vid_tensor: Any,
        global_step: int | None = None,
        fps: float = 4,
        walltime: float | None = None,
    ) -> None:
        """Log videos of shape (N, T, C, H, W), side by side. Raises ValueError for others."""
        self._add(summary.video(tag, vid_tensor, fps), global_step, walltime)

    def add_audio(
        self,
        tag: str,
        snd_tensor: Any,
        global_step: int | None = None,
        sample_rate: int = 44100,
        walltime: float | None = None,
    ) -> None:
        """Log a sound of shape (1, L), from -1 to 1. Raises AssertionError for more channels."""
        self._add(summary.audio(tag, snd_tensor, sample_rate), global_step, walltime)

    def add_text(
        self,
        tag: str,
        text_string: str,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log a text in Markdown."""
        self._add(summary.text(tag, text_string), global_step, walltime)

    def add_onnx_graph(self, prototxt: Any) -> None:
        """Log the graph of an ONNX file."""
        from wengert.utils.tensorboard._model_graph import onnx_graph_of

        self._get_file_writer().add_onnx_graph(onnx_graph_of(prototxt))

    def add_graph(
        self,
        model: Any,
        input_to_model: Any = None,
        verbose: bool = False,
        use_strict_trace: bool = True,
    ) -> None:
        """Log a model as the operations that autograd records in a call of it, in eval mode.

        `use_strict_trace` has no effect: nothing is traced. Raises RuntimeError if nothing is
        recorded.
        """
        from wengert.utils.tensorboard._model_graph import graph_of

        graph, run = graph_of(model, input_to_model)
        if verbose:
            print(graph)
        self._get_file_writer().add_graph((graph, run))

    def add_embedding(
        self,
        mat: Any,
        metadata: Sequence[Any] | None = None,
        label_img: Any = None,
        global_step: int | None = None,
        tag: str = "default",
        metadata_header: Sequence[str] | None = None,
    ) -> None:
        """Log points, the rows of a matrix, with labels and pictures of shape (N, C, H, W).

        Raises AssertionError unless there is one of each for every row.
        """
        points, step = logged_array(mat), global_step or 0
        for argument, value in {"metadata": metadata, "label_img": label_img}.items():
            if value is not None and len(value) != len(points):
                raise AssertionError(
                    f"{argument}: expected one for each of {len(points)} points, got {len(value)}"
                )
        if points.ndim != 2:
            raise AssertionError(f"mat: expected a row for each point, got shape {points.shape}")
        logs = Path(self._get_file_writer().get_logdir())
        folder = logs / _embedding.folder_of(tag, step)
        if folder.is_dir():
            warnings.warn(f"add_embedding overwrites {folder}: pass a global_step", stacklevel=2)
        folder.mkdir(parents=True, exist_ok=True)
        _embedding.save_points(folder, points)
        if metadata is not None:
            _embedding.save_labels(folder, metadata, metadata_header)
        size = None
        if label_img is not None:
            _embedding.save_pictures(folder, label_img)
            size = label_img.shape[3], label_img.shape[2]
        self._embeddings.append(_embedding.description(tag, step, metadata is not None, size))
        _embedding.save_descriptions(logs, self._embeddings)

    def add_pr_curve(
        self,
        tag: str,
        labels: Any,
        predictions: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall of predictions from 0 to 1, for labels that are 0 or 1."""
        message = summary.pr_curve(tag, labels, predictions, num_thresholds, weights)
        self._add(message, global_step, walltime)

    def add_pr_curve_raw(
        self,
        tag: str,
        true_positive_counts: Any,
        false_positive_counts: Any,
        true_negative_counts: Any,
        false_negative_counts: Any,
        precision: Any,
        recall: Any,
        global_step: int | None = None,
        num_thresholds: int = 127,
        weights: Any = None,
        walltime: float | None = None,
    ) -> None:
        """Log precision and recall that have been computed already."""
        message = summary.pr_curve_raw(
            tag,
            true_positive_counts,
            false_positive_counts,
            true_negative_counts,
            false_negative_counts,
            precision,
            recall,
            num_thresholds,
            weights,
        )
        self._add(message, global_step, walltime)

    def add_custom_scalars_multilinechart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show several scalars in one chart."""
        self.add_custom_scalars({category: {title: ["Multiline", tags]}})

    def add_custom_scalars_marginchart(
        self, tags: Sequence[str], category: str = "default", title: str = "untitled"
    ) -> None:
        """Show a scalar between two others. Raises AssertionError unless there are 3 tags."""
        self.add_custom_scalars({category: {title: ["Margin", tags]}})

    def add_custom_scalars(self, layout: Mapping[str, Mapping[str, Sequence[Any]]]) -> None:
        """Show scalars in charts: {category: {title: ["Multiline" or "Margin", tags]}}."""
        self._add(summary.custom_scalars(layout))

    def add_mesh(
        self,
        tag: str,
        vertices: Any,
        colors: Any = None,
        faces: Any = None,
        config_dict: Mapping[str, Any] | None = None,
        global_step: int | None = None,
        walltime: float | None = None,
    ) -> None:
        """Log meshes, or clouds of points: tensors of shape (batch, count, 3)."""
        message = summary.mesh(tag, vertices, colors, faces, config_dict)
        self._add(message, global_step, walltime)

    def flush(self) -> None:
        """Write what waits."""
        for writer in (self.all_writers or {}).values():
            writer.flush()

    def close(self) -> None:
        """Write what waits, and close the files; what is logged later gets new ones."""
        for writer in (self.all_writers or {}).values():
            writer.flush()
            writer.close()
        self.file_writer = self.all_writers = None

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(
        self, kind: type | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
