/** `--require` and `--min-decided`: what a run has to decide at least. */
import { nearest, UsageError } from '../common/usage.ts';
import { CAPABILITIES_OF, type Capability } from '../contract/capabilities.ts';
import type { Demands } from '../runner/coverage.ts';
import type { Api } from '../runner/types.ts';

/** Throws UsageError for a capability that no such target can have, and for what is no number of checks. */
export function demandsOf(
  api: Api,
  args: { readonly require?: readonly string[]; readonly 'min-decided'?: string },
): Demands {
  const least = args['min-decided'];
  return {
    require: (args.require ?? []).flatMap((list) => list.split(',')).map((name) => capability(api, name.trim())),
    ...(least === undefined ? {} : { minDecided: minimum(least) }),
  };
}

function capability(api: Api, name: string): Capability {
  const known = api === 'system' ? [...CAPABILITIES_OF.device, ...CAPABILITIES_OF.platform] : CAPABILITIES_OF[api];
  const found = known.find((one) => one === name);
  if (found !== undefined) return found;
  const near = nearest(name, known);
  const meant = near === undefined ? '' : `did you mean ${near}? `;
  throw new UsageError(`--require ${name}: ${meant}accepted are ${known.join(', ')}`);
}

function minimum(text: string): { count: number } | { percent: number } {
  const [, digits = '', percent] = /^(\d+(?:\.\d+)?)(%?)$/.exec(text) ?? [];
  const value = Number(digits);
  if (digits !== '' && percent === '%' && value <= 100) return { percent: value };
  if (digits !== '' && percent === '' && Number.isSafeInteger(value)) return { count: value };
  throw new UsageError(
    `--min-decided ${text}: must be a whole number of checks, or up to 100% of them, e.g. 40 or 80%`,
  );
}
