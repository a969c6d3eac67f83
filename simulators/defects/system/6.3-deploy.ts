import { defect } from '../define-platform.ts';

export const defects = [
  defect('sync-not-requested', 'Never tells a device that it has something to fetch.', ['system.deploy'], {
    notifies: false,
  }),
  defect('reports-dropped', 'Does not store what a device reports.', ['system.deploy'], {
    report: () => undefined,
  }),
  defect(
    'replaced-stays-deployed',
    'Archives the target of a replaced deployment, never its activity.',
    ['system.replace'],
    ({ mayReport }) => ({
      retired: (activity) => activity,
      mayReport: (from, to) => to !== 'archived' && mayReport(from, to),
    }),
  ),
];
