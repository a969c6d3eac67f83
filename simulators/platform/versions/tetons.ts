/** From rainier down to tetons: no `removing`, no `yaml`, no device expansions, no provisioning tokens (section 9). */
import { parse } from 'yaml';
import type { DeploymentErrorStatus } from '../../../harness/contract/enums.ts';
import { parseJsonc } from '../checking/job.ts';
import type { DownStep } from './steps.ts';

export const toTetons: DownStep = {
  to: 'tetons',
  resources: {
    // The files are still on the device while they are removed, so a tetons client sees it as deployed until it is archived.
    deployment: (deployment, behaviour) =>
      deployment['activity_status'] === 'removing'
        ? {
            ...deployment,
            activity_status: 'deployed',
            status: behaviour.mergeStatus('deployed', deployment['error_status'] as DeploymentErrorStatus),
          }
        : deployment,
  },
  content: (content) => {
    if (content.format === 'yaml') return { format: 'json', data: JSON.stringify(parse(content.data) ?? null) };
    if (content.format === 'jsonc') return { format: 'json', data: JSON.stringify(parseJsonc(content.data)) };
    return content;
  },
  filterValues: (kind, field, value) =>
    kind === 'deployment' && field === 'activity_status' && value === 'deployed' ? ['deployed', 'removing'] : [value],
};
