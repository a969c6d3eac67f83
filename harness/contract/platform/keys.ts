/** Provisioning tokens for devices, and the owner of an API key (section 9 of the specification). */
import { Timestamp } from '../shape.ts';
import { Type } from '../type.ts';
import type { Operation } from './operation.ts';

const principal = Type.Object({ object: Type.Literal('principal'), id: Type.String(), name: Type.String() });

export const tokenAnswer = Type.Object({ token: Type.String(), expires_at: Timestamp });

export const keyOperations: Operation[] = [
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
  {
    id: 'getSelf',
    method: 'GET',
    path: '/principal',
    summary: 'Who the key belongs to',
    tag: 'Principal',
    scopes: [],
    answer: { name: 'Principal', schema: principal },
  },
];
