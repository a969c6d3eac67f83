/** Section 2.2: how activity and error status merge. */
import fc from 'fast-check';
import { DEPLOYMENT_ACTIVITY_STATUSES, DEPLOYMENT_ERROR_STATUSES } from '../../harness/contract/enums.ts';
import { requirement } from '../../harness/runner/define.ts';
import { ControlError } from '../../harness/targets/control/control.ts';
import { currentDeployment } from './support/ask.ts';
import { check, type Device } from './support/context.ts';
import { parseObject } from './support/events.ts';
import { judgeMerge } from './support/judge.ts';
import { retained } from './support/retained.ts';
import { withStreams } from './support/streams.ts';

const merge = requirement({
  id: 'device.deployment.merge',
  level: 'MUST',
  section: '2.2',
  since: '2026-11-21',
  text: 'status equals error_status when that is failed or retrying, and activity_status when error_status is none, on every deployment seen.',
});

export default [
  check(merge, { sharing: 'shared', profile: 'core' }, (context: Device) =>
    withStreams(context, async (streams) => {
      let seen = 0;
      const body = await currentDeployment(context);
      if (body !== undefined && judgeMerge(context, body, 'the current deployment')) seen += 1;
      const past = await retained(context, streams);
      for (const { event, data } of past?.sample.stream.frames ?? []) {
        // Events of other resources may give the same names another meaning.
        if (event?.startsWith('deployment.') !== true) continue;
        const payload = parseObject(data ?? '')?.['data'] as Record<string, unknown> | undefined;
        if (payload !== undefined && judgeMerge(context, payload, `the payload of ${data}`)) seen += 1;
      }
      if (seen === 0)
        context.notApplicable('the device shows no deployment: neither a current one nor one in a retained event');
    }),
  ),

  check(
    merge,
    { aspect: 'driven', needs: ['drive'], sharing: 'exclusive', profile: 'core' },
    async (context: Device) => {
      const reached = new Set<string>();
      let driven = 0;
      const pair = fc.record({
        activity_status: fc.constantFrom(...DEPLOYMENT_ACTIVITY_STATUSES),
        error_status: fc.constantFrom(...DEPLOYMENT_ERROR_STATUSES),
      });
      const every = DEPLOYMENT_ACTIVITY_STATUSES.flatMap((activity_status) =>
        DEPLOYMENT_ERROR_STATUSES.map((error_status): [unknown] => [{ activity_status, error_status }]),
      );
      await context.property(
        pair,
        async (statuses) => {
          try {
            await context.control.deploy(statuses);
            driven += 1;
          } catch (error) {
            // Not every target can be driven to every pair.
            if (error instanceof ControlError) return;
            throw error;
          }
          const body = await currentDeployment(context);
          if (body === undefined || !judgeMerge(context, body, 'the current deployment')) return;
          reached.add(`${body['activity_status']}/${body['error_status']}`);
        },
        { runs: every.length, examples: every },
      );
      if (driven === 0) context.blocked('control could not drive the device to any deployment');
      if (reached.size === 0) context.notApplicable('no deployment that was driven showed both statuses');
      context.note(`pairs of activity/error seen: ${[...reached].sort().join(', ')}`);
    },
  ),
];
