/** Query parameters of the agent's lists: clamped paging (specification section 8), `a|b` filters, expansions. */
import {
  DEPLOYMENT_ACTIVITY_STATUSES,
  type DeploymentActivityStatus,
  isDeploymentActivityStatus,
} from '../../../harness/contract/enums.ts';
import { LIST_LIMITS } from '../../../harness/contract/lists.ts';
import { PlatformError } from '../ports.ts';

export type Query = Record<string, string | string[] | undefined>;

const values = (query: Query, name: string): string[] => {
  const given = query[name];
  return given === undefined ? [] : [given].flat();
};

/** The nearest valid integer to whatever text was sent; the default when it is no number at all. */
function clamp(texts: string[], low: number, high: number, fallback: number): number {
  const text = texts.at(-1)?.trim() ?? '';
  if (!/^[+-]?\d+(\.\d*)?$/.test(text)) return fallback;
  return Math.min(high, Math.max(low, Math.trunc(Number(text))));
}

export function paging(query: Query): { limit: number; offset: number } {
  const { limitMinimum, limitMaximum, limitDefault, offsetMinimum, offsetDefault } = LIST_LIMITS;
  return {
    limit: clamp(values(query, 'limit'), limitMinimum, limitMaximum, limitDefault),
    offset: clamp(values(query, 'offset'), offsetMinimum, Number.MAX_SAFE_INTEGER, offsetDefault),
  };
}

/** `activity_status=queued|deployed`; commas are taken too. Throws PlatformError 400 on a value that is none. */
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
