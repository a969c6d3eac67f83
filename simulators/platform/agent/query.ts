/** Query parameters of the agent's lists: clamped paging (specification section 8), `a|b` filters, expansions. */
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  type DeploymentActivityStatus,
  isDeploymentActivityStatus,
} from '../../../harness/contract/enums.ts';
import { PlatformError } from '../ports.ts';
import { referenceBehaviour } from '../reference.ts';

export type Query = Record<string, string | string[] | undefined>;

const values = (query: Query, name: string): string[] => {
  const given = query[name];
  return given === undefined ? [] : [given].flat();
};

/** As on the Platform API. */
export function paging(query: Query): { limit: number; offset: number } {
  return {
    limit: referenceBehaviour.clampLimit(values(query, 'limit')),
    offset: referenceBehaviour.clampOffset(values(query, 'offset')),
  };
}

/** `activity_status=queued|deployed`; commas separate too. Throws PlatformError 400 for an unknown status. */
export function activityFilter(query: Query): DeploymentActivityStatus[] {
  const wanted = values(query, 'activity_status')
    .flatMap((text) => text.split(/[|,]/))
    .filter((text) => text !== '');
  return wanted.map((text) => {
    if (isDeploymentActivityStatus(text)) return text;
    throw new PlatformError(400, 'invalid_request', 'activity_status holds an unknown status', {
      activity_status: text.slice(0, 64),
      accepted: DEPLOYMENT_ACTIVITY_STATUSES,
    });
  });
}

const EXPANSIONS = ['release', 'release.git_commit', 'config_instances'];

/** `expand=…` or `expand[]=…`, repeated. Throws PlatformError 400 on an expansion that does not exist. */
export function expansions(query: Query, more: readonly string[] = []): string[] {
  const accepted = [...EXPANSIONS, ...more];
  const wanted = new Set([...values(query, 'expand'), ...values(query, 'expand[]')]);
  for (const name of wanted) {
    if (accepted.includes(name)) continue;
    throw new PlatformError(400, 'invalid_request', 'expand names something that cannot be expanded', {
      expand: name.slice(0, 64),
      accepted,
    });
  }
  return [...wanted];
}
