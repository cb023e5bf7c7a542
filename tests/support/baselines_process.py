"""Print the version of scikit-learn, then the baselines of `noisy_tables(ROWS)` as JSON; ROWS is the argument."""

import json
import sys
import warnings
from dataclasses import asdict

import sklearn

from pipelines.scores.baselines import compute_baselines
from tests.support.made_texts import noisy_tables

if __name__ == "__main__":
    warnings.simplefilter("error")
    found = [compute_baselines(task, frames) for task, frames in noisy_tables(int(sys.argv[1]))]
    print(sklearn.__version__)
    print(json.dumps([[asdict(baseline) for baseline in one.baselines] for one in found]))
