import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'sync-not-requested',
    'Never tells a device that it has something to fetch.',
    ['system.deploy'],
    { notifies: false },
    { tells: /deployment\.deployed of dpl_\w+ on the device's event stream.* on the platform: .*activity queued/ },
  ),
  defect(
    'reports-dropped',
    'Does not store what a device reports.',
    ['system.deploy', 'system.failed', 'system.newer'],
    { report: () => undefined },
    { tells: /dpl_\w+ to be deployed on the platform.*activity queued/ },
  ),
  defect(
    'replaced-stays-deployed',
    'Archives the target of a replaced deployment, never its activity.',
    ['system.newer'],
    ({ mayReport }) => ({
      retired: (activity) => activity,
      mayReport: (from, to) => to !== 'archived' && mayReport(from, to),
    }),
    { tells: /to be another than deployed on the platform.*activity deployed, error none, target archived/ },
  ),
];
