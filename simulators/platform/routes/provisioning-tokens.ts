import { issueToken } from '../domain/provisioning.ts';
import type { Handlers } from '../http/call.ts';

export const provisioningTokenHandlers: Handlers = {
  createProvisioningToken: ({ core }) => ({
    json: JSON.stringify(issueToken(core)),
    status: core.behaviour.createdStatus,
  }),
};
