/** Provisioning tokens: since rainier, in place of the activation token of a device (specification section 9). */
import Type from 'typebox';
import { Timestamp } from '../shape.ts';
import type { Operation } from './operation.ts';

export const tokenAnswer = Type.Object({ token: Type.String(), expires_at: Timestamp });

export const provisioningTokenOperations: Operation[] = [
  {
    id: 'createProvisioningToken',
    method: 'POST',
    path: '/provisioning_tokens',
    summary: 'Issue a token with which devices provision themselves',
    tag: 'Provisioning Tokens',
    since: 'rainier',
    scopes: ['provisioning_tokens:write'],
    answer: { name: 'ProvisioningToken', schema: tokenAnswer },
  },
];
