"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict, as in PyTorch."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import pytest

import wengert

pytestmark = pytest.mark.torch

# Each runs in both libraries; the value of the last line is compared by its repr.
SAME = [
    "nn.Sequential(nn.ReLU(), nn.Tanh())[0]",
    "nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())[1:]",
    "nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())[-1]",
    "nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh()))",
    "nn.Sequential(OrderedDict(a=nn.ReLU(), b=nn.Tanh())).b",
    "nn.Sequential(nn.ReLU()).append(nn.Tanh()).append(nn.Sigmoid())",
    "nn.Sequential(nn.ReLU(), nn.Tanh()).insert(1, nn.Sigmoid())",
    "nn.Sequential(nn.ReLU(), nn.Tanh()).insert(-1, nn.Sigmoid())",
    "nn.Sequential(nn.ReLU()).extend([nn.Tanh(), nn.Sigmoid()])",
    "nn.Sequential(nn.ReLU()) + nn.Sequential(nn.Tanh())",
    "nn.Sequential(nn.ReLU()) * 3",
    "2 * nn.Sequential(nn.ReLU(), nn.Tanh())",
    "len(nn.Sequential(nn.ReLU(), nn.Tanh())), list(nn.Sequential(nn.ReLU()))",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())\ndel s[0]\ns",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh(), nn.Sigmoid())\ndel s[0:2]\ns",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh())\ns[0] = nn.Sigmoid()\ns",
    "s = nn.Sequential(nn.ReLU(), nn.Tanh())\n(s.pop(0), s)",
    "s = nn.Sequential(nn.ReLU())\ns += nn.Sequential(nn.Tanh())\ns",
    "s = nn.Sequential(nn.ReLU())\ns *= 2\ns",
    "nn.Sequential()",
    "nn.ModuleList([nn.ReLU(), nn.ReLU(), nn.Tanh(), nn.ReLU()])",
    "nn.ModuleList([nn.Sequential(nn.ReLU()), nn.Sequential(nn.ReLU())])",
    "nn.ModuleList()",
    "nn.ModuleList([nn.ReLU(), nn.Tanh()])[-1]",
    "nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])[:2]",
    "nn.ModuleList([nn.ReLU()]) + [nn.Tanh()]",
    "m = nn.ModuleList([nn.ReLU()])\nm += [nn.Tanh()]\nm",
    "m = nn.ModuleList([nn.ReLU()])\nm.insert(0, nn.Tanh())\nm",
    "m = nn.ModuleList([nn.ReLU(), nn.Tanh()])\ndel m[0]\nm",
    "m = nn.ModuleList([nn.ReLU(), nn.Tanh()])\n(m.pop(1), m)",
    "m = nn.ModuleList([nn.ReLU(), nn.Tanh()])\nm[1] = nn.Sigmoid()\nm",
    "nn.ModuleDict({'a': nn.ReLU(), 'b': nn.Tanh()})",
    "nn.ModuleDict([('a', nn.ReLU()), ['b', nn.Tanh()]])",
    "m = nn.ModuleDict({'a': nn.ReLU()})\nm['b'] = nn.Tanh()\n(m.pop('a'), list(m), len(m))",
    "'a' in nn.ModuleDict({'a': nn.ReLU()})",
    "m = nn.ModuleDict({'a': nn.ReLU()})\nm.update({'a': nn.Tanh()})\nlist(m.items())",
    "m = nn.ModuleDict({'a': nn.ReLU()})\ndel m['a']\n(list(m.keys()), list(m.values()))",
    "nn.ParameterList([torch.zeros(2), 3, 'a'])",
    "nn.ParameterList([torch.zeros(2), torch.zeros(3)])[0]",
    "list(nn.ParameterList([torch.zeros(2), torch.ones(1)])[1:])",
    "list(nn.ParameterList([torch.zeros(2)]).append(torch.ones(1)).parameters())",
    "p = nn.ParameterList([torch.zeros(2)])\np += [torch.ones(1)]\n(len(p), list(p.state_dict()))",
    "nn.ParameterDict({'a': torch.zeros(2), 'c': 5, 'd': None})",
    "p = nn.ParameterDict({'a': torch.zeros(2)})\n(p['a'], list(p), 'a' in p, p.get('b', 3))",
    "p = nn.ParameterDict({'a': torch.zeros(2)})\n(p.pop('a'), len(p), list(p.parameters()))",
    "p = nn.ParameterDict({'a': torch.zeros(2), 'b': torch.ones(1)})\n(p.popitem(), list(p))",
    "p = nn.ParameterDict({'a': torch.zeros(2)})\np |= {'b': torch.ones(1)}\nlist(p.items())",
    "p = nn.ParameterDict({'a': torch.zeros(2)}) | {'b': torch.ones(1)}\nlist(p.state_dict())",
    "list(nn.ParameterDict({k: torch.ones(2) for k in 'cab'}))",
    "list(nn.ParameterDict([(k, torch.ones(2)) for k in 'cab']).copy())",
    "p = nn.ParameterDict([(k, torch.ones(2)) for k in 'cab'])\nlist(nn.ParameterDict(p) | p)",
    "p = nn.ParameterDict({'b': 1}) | {'d': torch.ones(2), 'a': 2}\nlist(p.items())",
    "list(nn.ParameterDict().fromkeys('ab', torch.ones(1)).items())",
    "p = nn.ParameterDict()\n(p.setdefault('a', torch.zeros(1)), list(p))",
]

WRONG = [
    "nn.Sequential(nn.ReLU())[5]",
    "nn.Sequential(nn.ReLU()) + 3",
    "nn.Sequential(3)",
    "nn.Sequential(nn.ReLU()).insert(9, nn.ReLU())",
    "nn.Sequential(nn.ReLU()).insert(0, 3)",
    "nn.Sequential(nn.ReLU()).append(3)",
    "nn.Sequential(nn.ReLU()).pop(7)",
    "nn.Sequential(nn.ReLU()) * 0",
    "nn.Sequential(nn.ReLU()) * 'a'",
    "nn.ModuleList([3])",
    "nn.ModuleList()(3)",
    "nn.ModuleList()['a']",
    "nn.ModuleList().extend(3)",
    "nn.ModuleList() + 3",
    "nn.ModuleDict({'a': 3})",
    "nn.ModuleDict()['a']",
    "nn.ModuleDict([(1,)])",
    "nn.ModuleDict([3])",
    "nn.ModuleDict(3)",
    "nn.ParameterList([1])[5]",
    "nn.ParameterList().extend(3)",
    "nn.ParameterDict(3)",
    "nn.ParameterDict()['a']",
    "nn.ParameterDict({3: 4})",
]


def run(text: str, library: Any) -> Any:
    *before, last = text.split("\n")
    names = {"nn": library.nn, "torch": library, "OrderedDict": OrderedDict}
    exec("\n".join(before), names)
    return eval(last, names)


@pytest.mark.parametrize("text", SAME)
def test_containers_do_as_pytorchs(text: str, torch: Any) -> None:
    assert repr(run(text, wengert)) == repr(run(text, torch))


@pytest.mark.parametrize("text", WRONG)
def test_containers_raise_as_pytorchs(text: str, torch: Any) -> None:
    with pytest.raises(Exception) as theirs:  # noqa: PT011 (whatever torch raises)
        run(text, torch)
    with pytest.raises(type(theirs.value)):
        run(text, wengert)


def test_sequential_calls_its_modules_in_order(torch: Any) -> None:
    nn = wengert.nn
    x = wengert.tensor([-1.0, 2.0])
    assert nn.Sequential(nn.ReLU(), nn.Threshold(1.0, 7.0))(x).tolist() == [7, 2]
