import { basename } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import type { DeploymentChange } from '../../device/behaviour.ts';
import type { EventDraft } from '../../device/log/line.ts';
import { deployedEvent } from '../../device/state/deployment-store.ts';
import { type DeviceChanges, defect, variant } from '../define-device.ts';

const WRITTEN_FIRST = ['device.events.written-first'];
const DEPLOYED_ONLY = ['device.events.deployed-only'];

const announcesWhen = (match: (change: DeploymentChange, events: readonly EventDraft[]) => boolean): DeviceChanges => ({
  deployments: {
    announce: (events, change) =>
      change.kind === 'entered' && match(change, events)
        ? [deployedEvent(change.deployment, change.deployment.created_at)]
        : events,
  },
});

const removedWith = (change: (data: object) => object): DeviceChanges => ({
  deployments: { event: ({ type, data }) => ({ type, data: type === 'deployment.removed' ? change(data) : data }) },
});

export const defects = [
  defect('event-before-files', 'Publishes deployment.deployed before the files are in place.', WRITTEN_FIRST, {
    deployments: {
      enter: async ({ place, publish }) => {
        await publish();
        await setTimeout(30);
        await place();
      },
    },
  }),
  defect(
    'files-ascii-only',
    'Writes a question mark into config files for every character outside ASCII.',
    WRITTEN_FIRST,
    {
      deployments: {
        files: (files) =>
          files.map(({ filepath, content }) => {
            const text = Buffer.from(content).toString('utf8');
            return { filepath, content: Buffer.from(text.replaceAll(/[^\0-\x7f]/gu, '?')) };
          }),
      },
    },
  ),
  defect('files-flat', 'Writes all config files into one folder, whatever their paths.', WRITTEN_FIRST, {
    deployments: { files: (files) => files.map((file) => ({ ...file, filepath: `/${basename(file.filepath)}` })) },
  }),
  defect(
    'file-kept-when-there',
    'Keeps the old content of a config file when it is deployed again.',
    WRITTEN_FIRST,
    () => {
      const kept = new Map<string, Uint8Array>();
      return {
        deployments: {
          files: (files) =>
            files.map(({ filepath, content }) => {
              const held = kept.get(filepath) ?? content;
              kept.set(filepath, held);
              return { filepath, content: held };
            }),
        },
      };
    },
  ),
  defect(
    'deployed-for-every-state',
    'Publishes deployment.deployed for every state that a deployment enters.',
    DEPLOYED_ONLY,
    announcesWhen((_change, events) => events.length === 0),
  ),
  defect(
    'deployed-when-queued',
    'Publishes deployment.deployed when a deployment is queued, before anything is written.',
    DEPLOYED_ONLY,
    announcesWhen(({ deployment }) => deployment.activity_status === 'queued'),
  ),
  defect('deployed-told-twice', 'Publishes every deployment.deployed twice, as two events.', DEPLOYED_ONLY, {
    deployments: {
      announce: (events) =>
        events.flatMap((event) => (event.type === 'deployment.deployed' ? [event, event] : [event])),
    },
  }),
];

export const variants = [
  variant(
    'other-event-types',
    'Sends events of types beyond those that section 6.3 names.',
    { deployments: { announce: (events) => [...events, { type: 'device.synced', data: { is_synced: true } }] } },
    { alternative: 'event-types' },
  ),
  variant(
    'removed-never-sent',
    'Never sends deployment.removed for a deployment, as its trigger is not stated (section 6.3).',
    { deployments: { announce: (events) => events.filter(({ type }) => type !== 'deployment.removed') } },
  ),
  variant(
    'removed-without-payload',
    'Sends deployment.removed with an empty payload, as none is shown (section 6.3).',
    removedWith(() => ({})),
  ),
  variant(
    'removed-with-status',
    'Gives the status that a removed deployment has in deployment.removed, whose payload is not shown (section 6.3).',
    removedWith((data) => ({ ...data, status: 'removed', activity_status: 'removing', error_status: 'none' })),
  ),
];
