import { instantOf } from '../../../harness/contract/shape.ts';
import { NEWEST_VERSION } from '../../../harness/contract/versions.ts';
import type { Resource } from '../../platform/behaviour.ts';
import { PlatformError } from '../../platform/ports.ts';
import { answers, bodies, defect, errors, resources, unless, variant } from '../define-platform.ts';

const PARENT = ['platform.deployment.parent'];
const FILTERED = ['platform.list.filtered'];
const TIMESTAMPS = ['platform.deployment.timestamps'];
const shows = (name: string, summary: string, change: (deployment: Resource) => Resource) =>
  defect(name, summary, TIMESTAMPS, resources('deployment', change));

export const defects = [
  defect(
    'merge-wrong-singly',
    'Leaves the error out of the status of a deployment that is read alone.',
    ['platform.deployment.merge'],
    answers('getDeployment', (deployment) => ({ ...deployment, status: deployment['activity_status'] })),
  ),
  defect('status-ignores-retrying', 'Shows failed in status, but not retrying.', ['platform.deployment.merge'], {
    mergeStatus: (activity, error) => (error === 'failed' ? 'failed' : activity),
  }),
  defect(
    'status-error-always',
    'Shows the error status even when there is none.',
    ['platform.deployment.merge', 'platform.deployment.shape'],
    resources('deployment', (deployment) => ({ ...deployment, status: deployment['error_status'] })),
  ),
  defect(
    'deployment-id-bare',
    'Gives the id of a release without its prefix.',
    ['platform.deployment.shape'],
    resources('deployment', (each) => ({ ...each, release_id: String(each['release_id']).replace('rls_', '') })),
  ),
  defect(
    'created-when-read',
    'Shows the time of the reading as the creation of a deployment that is read alone.',
    ['platform.deployment.same'],
    answers('getDeployment', (deployment) => ({ ...deployment, created_at: new Date().toISOString() })),
  ),
  defect('removing-in-tetons', 'Shows removing to clients of tetons.', ['platform.deployment.removing'], {
    downStep: (kind) => kind !== 'deployment',
  }),
  defect('deployed-in-tetons', 'Shows staged as deployed to clients of tetons.', ['platform.deployment.alike'], {
    resource: (kind, resource, version) =>
      kind === 'deployment' && version === '2026-03-09.tetons' && resource['activity_status'] === 'staged'
        ? { ...resource, activity_status: 'deployed', status: 'deployed' }
        : resource,
  }),
  defect(
    'failed-stays',
    'Leaves failed deployments as they were.',
    ['platform.deployment.failed'],
    resources('deployment', (deployment) =>
      deployment['error_status'] === 'failed'
        ? { ...deployment, activity_status: 'deployed', target_status: 'deployed' }
        : deployment,
    ),
  ),
  defect(
    'deployment-description-escaped',
    'Escapes the description of a deployment for a web page.',
    ['platform.deployment.created'],
    resources('deployment', ({ description, ...deployment }) => ({
      ...deployment,
      description: String(description).replaceAll('&', '&amp;').replaceAll('<', '&lt;'),
    })),
  ),
  defect(
    'deployment-description-cut',
    'Cuts the description of a deployment that is read alone to 255 characters.',
    ['platform.deployment.created'],
    answers('getDeployment', ({ description, ...deployment }) => ({
      ...deployment,
      description: String(description).slice(0, 255),
    })),
  ),
  defect('archived-is-deployed', 'Deploys an archived deployment again.', ['platform.deployment.archived-final'], {
    mayTarget: () => true,
  }),
  defect('drifted-is-deployed', 'Deploys a drifted deployment unseen.', ['platform.deployment.drifted'], {
    deploysDrifted: true,
  }),
  defect(
    'replaced-is-staged-again',
    'Puts a deployment that was replaced back to staged.',
    ['platform.deployment.forward-only'],
    { retired: () => 'staged' },
  ),
  defect('parent-ignored', 'Never looks at parent_id.', PARENT, { parentHolds: () => true }),
  defect(
    'parent-null-refused',
    'Refuses null although the device has no target deployment.',
    PARENT,
    ({ parentHolds }) => ({
      parentHolds: (given, current, version) => given !== null && parentHolds(given, current, version),
    }),
  ),
  defect('two-targets', 'Keeps the target deployment of a device beside the one that replaces it.', PARENT, {
    replaces: false,
  }),
  defect('parent-omitted-refused', 'Creates no deployment without parent_id.', PARENT, ({ parentHolds }) => ({
    parentHolds: (given, current, version) => given !== undefined && parentHolds(given, current, version),
  })),
  defect(
    'parent-null-created',
    'Refuses null where the device has a target deployment, but creates the deployment anyway.',
    PARENT,
    ({ parentHolds, error }) => {
      let held = true;
      return {
        parentHolds: (given, current, version) => {
          held = parentHolds(given, current, version);
          return held || given === null;
        },
        answer: (operation, answer) =>
          operation !== 'createDeployment' || held
            ? answer
            : error({ status: 409, code: 'parent_mismatch', params: {}, message: 'the device has a target' }),
      };
    },
  ),
  defect('parent-id-refused', 'Refuses the id of the current target deployment.', PARENT, ({ parentHolds }) => ({
    parentHolds: (given, current, version) => typeof given !== 'string' && parentHolds(given, current, version),
  })),
  defect('parent-omitted-is-null', 'Treats an omitted parent_id as null.', PARENT, ({ parentHolds }) => ({
    parentHolds: (given, current, version) => parentHolds(given ?? null, current, version),
  })),
  defect(
    'parent-null-once',
    'Accepts a null parent_id in the first request for each device alone.',
    PARENT,
    (platform) => {
      const devices = new Set<unknown>();
      return {
        bodyProblems: (operation, value, check) => {
          const problems = platform.bodyProblems(operation, value, check);
          if (operation !== 'createDeployment' || problems.length > 0) return problems;
          const { device_id: device, parent_id: parent } = value as Resource;
          const hadOne = devices.has(device);
          devices.add(device);
          return hadOne && parent === null ? [{ path: '/parent_id', message: 'not null again for this device' }] : [];
        },
      };
    },
  ),
  shows('moments-out-of-order', 'Shows deployments as archived an hour before they were queued.', (deployment) => {
    const { queued_at: queued, archived_at: archived } = deployment;
    if (typeof queued !== 'string' || typeof archived !== 'string') return deployment;
    return { ...deployment, archived_at: new Date(Date.parse(queued) - 3_600_000).toISOString() };
  }),
  shows('moment-queued-moves', 'Shows a deployment as queued when it was last changed.', (deployment) => {
    const { queued_at, deployed_at, archived_at } = deployment;
    return { ...deployment, queued_at: queued_at && (archived_at ?? deployed_at ?? queued_at) };
  }),
  shows('moment-queued-at-creation', 'Gives the moment of creation as that of queueing.', (each) => ({
    ...each,
    queued_at: each['queued_at'] && each['created_at'],
  })),
  shows('moment-deployed-early', 'Gives the moment of queueing as that of deployment.', (deployment) => ({
    ...deployment,
    deployed_at: deployment['deployed_at'] ?? deployment['queued_at'],
  })),
  shows(
    'moment-deployed-of-staged',
    'Shows a deployment that was archived while staged as deployed at that moment.',
    (deployment) =>
      deployment['activity_status'] === 'archived' && deployment['queued_at'] === null
        ? { ...deployment, deployed_at: deployment['archived_at'] }
        : deployment,
  ),
  shows(
    'moments-cleared',
    'Forgets when a deployment was queued and deployed as soon as it is archived.',
    (deployment) =>
      deployment['activity_status'] === 'archived' ? { ...deployment, queued_at: null, deployed_at: null } : deployment,
  ),
  defect(
    'order-by-time-ignored',
    'Orders by id where that is asked for, and never by time.',
    FILTERED,
    ({ order }) => ({ order: (asked) => order(asked.filter(({ field }) => field !== 'created_at')) }),
  ),
  defect('order-pages-from-the-end', 'Gives later pages of an order from its end.', FILTERED, ({ order, page }) => {
    let isOrdered = false;
    return {
      order: (asked) => {
        isOrdered = asked.length > 0;
        return order(asked);
      },
      page: (window, at) => {
        const { offset, limit } = window;
        return isOrdered && offset > 0 ? at(Math.max(0, window.total() - offset - limit), limit) : page(window, at);
      },
    };
  }),
  defect(
    'expansions-lost-on-long-pages',
    'Expands nothing in lists of deployments with limit=100.',
    ['platform.resource.same'],
    answers('listDeployments', ({ limit, data, ...rest }) => {
      const plain = (data as Resource[]).map(
        ({ device, release, parent, config_instances, ...deployment }) => deployment,
      );
      return { ...rest, limit, data: limit === 100 ? plain : data };
    }),
  ),
  defect(
    'offline-in-older',
    'Shows every device as offline to clients of older versions.',
    ['platform.resource.same'],
    {
      resource: (kind, resource, version) =>
        kind === 'device' && version !== NEWEST_VERSION ? { ...resource, status: 'offline' } : resource,
    },
  ),
  defect(
    'release-version-other-in-lists',
    'Shows another version of a release in lists than alone.',
    ['platform.resource.same'],
    answers('listReleases', ({ data, ...rest }) => ({
      ...rest,
      data: (data as { version: string }[]).map((release) => ({ ...release, version: `${release.version}-0` })),
    })),
  ),
];

export const variants = [
  variant(
    'description-at-most-255',
    'Refuses a description of more than 255 characters.',
    bodies((_operation, { description = '' }) =>
      unless(String(description).length <= 255, '/description', 'is longer than 255 characters'),
    ),
  ),
  variant('deploys-newest-release-alone', 'Answers 409 to the deployment of an older release.', (platform) => {
    let newest: unknown;
    return {
      answer: (operation, answer) => {
        if (operation === 'createRelease') newest = (answer.body as Resource)['id'] ?? newest;
        return platform.answer?.(operation, answer) ?? answer;
      },
      mayTarget: (from, to, row) => {
        if (newest === undefined || row?.release_id === newest) return platform.mayTarget(from, to, row);
        throw new PlatformError(409, 'release_is_not_current', 'only the current release can be deployed');
      },
    };
  }),
  variant('created-201', 'Answers 201 when something is created.', { createdStatus: 201 }),
  variant('drift-when-deployed', 'Lets staged deployments drift only once another is on the device.', {
    driftsOn: 'deployed',
  }),
  variant(
    'release-of-a-commit',
    'Requires git_commit_ref for a release.',
    bodies((operation, { git_commit_ref: commit }) =>
      unless(operation !== 'createRelease' || commit !== undefined, '/git_commit_ref', 'is needed'),
    ),
  ),
  variant(
    'conflict-400',
    'Answers 400 where the reference answers 409.',
    errors(({ status }) => status === 409, 400),
  ),
  variant('parent-id-informational', 'Accepts any deployment id as parent_id.', ({ parentHolds }) => ({
    parentHolds: (given, current, version) => typeof given === 'string' || parentHolds(given, current, version),
  })),
  variant(
    'moments-to-come',
    'Shows when a deployment will be archived.',
    resources('deployment', (deployment) => ({
      auto_archived_after: new Date(instantOf(String(deployment['created_at'])) + 365 * 86_400_000).toISOString(),
      ...deployment,
    })),
  ),
  variant(
    'deployed-between-reads',
    'Delivers at once, so that a queued deployment has been deployed by the time it is replaced.',
    resources('deployment', (deployment) =>
      deployment['activity_status'] === 'archived' && typeof deployment['queued_at'] === 'string'
        ? { ...deployment, deployed_at: deployment['deployed_at'] ?? deployment['queued_at'] }
        : deployment,
    ),
  ),
];
