import { defect } from '../define-platform.ts';

export const defects = [
  defect(
    'ping-not-sent',
    'Answers every ping at once, without asking the device.',
    ['system.ping'],
    { ping: async () => ({ code: 'timeout' }) },
    { tells: /code "success" from the device, which is online.*"code":"timeout"/ },
  ),
  defect(
    'ping-answered-in-its-place',
    'Answers pings itself, whether the device is online or not.',
    ['system.ping'],
    { ping: async () => ({ code: 'success', round_trip_nanos: 1_000_000 }) },
    { tells: /no success from a device that is offline.*"code":"success"/ },
  ),
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
  defect(
    'failure-not-archived',
    'Leaves a failed deployment as the target of its device.',
    ['system.failed'],
    { failureArchives: false, report: (each) => (each.error_status === 'failed' ? { error_status: 'failed' } : each) },
    { tells: /to end failed and archived.*activity queued, error failed, target deployed/ },
  ),
  defect(
    'target-not-replaced',
    'Keeps the old target deployment beside the new one.',
    ['system.offline.newest', 'system.agreement'],
    { replaces: false },
    { tells: /not to wait for its device any more.*activity queued, error none, target deployed/ },
  ),
  defect(
    'queued-is-deployed',
    'Shows a deployment as deployed before its device has fetched it.',
    ['system.offline'],
    ({ mergeStatus }) => ({
      resource: (kind, resource) =>
        kind === 'deployment' && resource['activity_status'] === 'queued'
          ? { ...resource, activity_status: 'deployed', status: mergeStatus('deployed', 'none') }
          : resource,
    }),
    { tells: /to be queued on the platform.*activity deployed/ },
  ),
];
