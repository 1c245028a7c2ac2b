"""Summaries of a run's hyperparameters and of what came of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from wengert.core.tensor import Tensor
from wengert.utils.tensorboard._arrays import logged_array
from wengert.utils.tensorboard._messages import metadata_of, summary_of
from wengert.utils.tensorboard._packages import tensorboard


def hparams(
    hparam_dict: Mapping[str, Any],
    metric_dict: Mapping[str, Any],
    hparam_domain_discrete: Mapping[str, list[Any]] | None = None,
) -> tuple[Any, Any, Any]:
    """Three summaries: the experiment, the start of its session, the end.

    Raises TypeError for arguments that are no dicts, or for a choice of another type than the
    hyperparameter, ValueError for a hyperparameter that is no number, string or tensor.
    """
    domains = hparam_domain_discrete or {}
    _check(hparam_dict, metric_dict, domains)
    api, names = tensorboard("plugins.hparams.api_pb2"), tensorboard("plugins.hparams.metadata")
    data = tensorboard("plugins.hparams.plugin_data_pb2")
    start, infos = data.SessionStartInfo(), []
    for name, value, kind, field in _entries(hparam_dict):
        setattr(start.hparams[name], field, value)
        info = api.HParamInfo(name=name, type=api.DataType.Value(kind))
        for choice in domains.get(name, ()):
            setattr(info.domain_discrete.values.add(), field, choice)
        infos.append(info)
    metrics = [api.MetricInfo(name=api.MetricName(tag=tag)) for tag in metric_dict]
    end = data.SessionEndInfo(status=api.Status.Value("STATUS_SUCCESS"))
    experiment = api.Experiment(hparam_infos=infos, metric_infos=metrics)

    def summary(tag: str, **content: Any) -> Any:
        message = data.HParamsPluginData(version=names.PLUGIN_DATA_VERSION, **content)
        return summary_of(tag, metadata=metadata_of(names.PLUGIN_NAME, message))

    return (
        summary(names.EXPERIMENT_TAG, experiment=experiment),
        summary(names.SESSION_START_INFO_TAG, session_start_info=start),
        summary(names.SESSION_END_INFO_TAG, session_end_info=end),
    )


def _check(values: Any, metrics: Any, domains: Any) -> None:
    arguments = {"hparam_dict": values, "metric_dict": metrics, "hparam_domain_discrete": domains}
    for argument, value in arguments.items():
        if not isinstance(value, dict):
            raise TypeError(f"{argument}={value!r}: expected a dict")
    for name, choices in domains.items():
        fits = name in values and isinstance(choices, list)
        if not fits or not all(isinstance(c, type(values[name])) for c in choices):
            raise TypeError(
                f"hparam_domain_discrete[{name!r}]={choices!r}: expected a list of values of the"
                f" type of hparam_dict[{name!r}]"
            )


def _entries(values: Mapping[str, Any]) -> Iterator[tuple[str, Any, str, str]]:
    """Name, value, TensorBoard's type, and the field for it; truth values are numbers."""
    for name, value in values.items():
        if isinstance(value, str):
            yield name, value, "DATA_TYPE_STRING", "string_value"
        elif isinstance(value, int | float | Tensor):
            number = logged_array(value).reshape(-1)[0] if isinstance(value, Tensor) else value
            yield name, number, "DATA_TYPE_FLOAT64", "number_value"
        elif value is not None:
            raise ValueError(
                f"hparam_dict[{name!r}]={value!r}: expected an int, a float, a str, a bool or a"
                " tensor"
            )
