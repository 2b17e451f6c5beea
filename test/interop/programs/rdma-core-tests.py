"""
Runs rdma-core's own tests, of which FOLDER/tests is a copy, all in this process, and prints a line for each: name, outcome and reason,
between tabs. Those of other providers, which only their hardware can pass, are left out.

    python3 rdma-core-tests.py FOLDER --dev rxe0
"""
import os
import sys
import unittest

folder = os.path.join(sys.argv.pop(1), 'tests')
# What tests print is no outcome.
outcomes = sys.stdout
sys.stdout = sys.stderr
sys.path.insert(0, folder)
sys.path.insert(0, os.path.dirname(folder))

from args_parser import parser  # noqa: E402

parser.parse_args()
import tests  # noqa: E402


class Lines(unittest.TestResult):
    def __init__(self):
        super().__init__()
        self.failed = []

    def say(self, test, outcome, reason=''):
        words = ' '.join(str(reason).split())
        print(test.id().removeprefix('tests.'), outcome, words, sep='\t', file=outcomes, flush=True)

    def addSuccess(self, test):
        self.say(test, 'ok')

    def addSkip(self, test, reason):
        self.say(test, 'skipped', reason)

    def addFailure(self, test, err):
        self.failed.append(test.id())
        self.say(test, 'failed', err[1])

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.say(test, 'failed', err[1])


modules = [one for one in tests.__test_modules__ if not one.__name__.startswith(('tests.test_mlx5', 'tests.test_efa'))]
for module in modules:
    lines = Lines()
    unittest.defaultTestLoader.loadTestsFromModule(module).run(lines)
    # Their two ends do not wait for each other's receives: on a busy machine one may come too late. What is said last counts.
    again = [name for name in lines.failed if name.startswith('tests.test_rdmacm.')]
    unittest.defaultTestLoader.loadTestsFromNames(again).run(Lines())
