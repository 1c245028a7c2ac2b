"""Record what Theano 1.0.5 answers to `programs.py`, in `theano_answers.json`.

python3.8 -m venv theano-venv
theano-venv/bin/pip install "numpy==1.19.5" "scipy<1.8" theano==1.0.5
THEANO_FLAGS=linker=py,cxx= theano-venv/bin/python tests/symbolic/record.py [PROGRAM ...]
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main():
    sys.path.insert(0, HERE)
    import numpy as np
    import theano
    import theano.tensor as T
    from programs import PROGRAMS

    file = os.path.join(HERE, "theano_answers.json")
    answers = {}
    if os.path.exists(file):
        with open(file) as earlier:
            answers = json.load(earlier)
    for name in sys.argv[1:] or PROGRAMS:
        # Loops take minutes to optimise, and what is recorded of them does not depend on it.
        theano.config.optimizer = "fast_compile" if "scan" in name else "fast_run"
        values = [np.asarray(v) for v in PROGRAMS[name](theano, T)]
        answers[name] = [[str(v.dtype), list(v.shape), v.ravel().tolist()] for v in values]
        print(name, len(values), flush=True)
        with open(file, "w") as out:
            json.dump(answers, out)
            out.write("\n")


if __name__ == "__main__":
    main()
