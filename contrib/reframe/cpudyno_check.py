"""One job of cpudyno on each node gives all metrics of it: medians by area, workload and, of several, quantity.

    reframe -c cpudyno_check.py -r --distribute=idle
"""
import json
import os
import statistics

import reframe as rfm
import reframe.utility.sanity as sn

UNITS = {'Hz': ('MHz', 1e-6), 'B/s': ('GB/s', 1e-9), 's': ('us', 1e6)}


def medians(name, rows):
    """Those of all cores, and as NAME@1 of the fewest; what else tells rows apart is in the name, too."""
    parameters = [set(row.get('parameters', {}).items()) for row in rows]
    for row, own in zip(rows, parameters):
        told = [name, *(value for _, value in sorted(own - set.intersection(*parameters)))]
        found = {}
        for cell in row['cells']:
            if 'median' in cell:
                found.setdefault(cell['active'], []).append(cell['median'])
        for active in {min(found, default=None), max(found, default=None)} - {None}:
            at = '' if active == max(found) else f'@{active}'
            yield '_'.join(told).replace(' ', '-') + at, statistics.median(found[active])


@rfm.simple_test
class CpudynoSheet(rfm.RunOnlyRegressionTest):
    valid_systems, valid_prog_environs = ['*'], ['*']
    executable = 'cpudyno'
    executable_opts = ['sheet', '--budget', '30s', '--json', 'record.json']
    num_tasks = num_tasks_per_node = 1
    exclusive_access = True
    time_limit = '10m'
    # What nodes have to reach: reference = {'cluster:part': {'memory.triad': (412, -0.04, None, 'GB/s')}}

    def record(self):
        with open(os.path.join(self.stagedir, 'record.json')) as file:
            return json.load(file)

    @sanity_function
    def can_be_relied_on(self):
        # Exit codes are not known to every scheduler; a record is there only when it is whole.
        record = self.record()
        serious = [finding['text'] for finding in record['findings'] if finding['severity'] == 'serious']
        return sn.assert_eq([record['run'].get('interrupted'), *serious], [None])

    @run_before('performance')
    def take_medians(self):
        for area, workloads in self.record()['digest']['results']['areas'].items():
            for workload, quantities in workloads.items():
                for quantity, result in quantities.items():
                    unit, factor = UNITS.get(result['unit'], (result['unit'], 1))
                    name = f'{area}.{workload}' + (f'.{quantity}' if len(quantities) > 1 else '')
                    # Curves over the size of data stay in the record.
                    rows = [row for row in result['rows'] if row.get('parameters', {}).get('question') != 'sweep']
                    for metric, value in medians(name, rows):
                        self.perf_variables[metric] = sn.make_performance_function(sn.defer(value * factor), unit)
