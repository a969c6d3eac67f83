/** `/devices/*`, `/device`: provisioning, tokens, and the device's own record. */

import type { FastifyInstance } from 'fastify';
import Type from 'typebox';
import { provisionRequest, reprovisionRequest } from '../../../harness/contract/agent.ts';
import { shape } from '../../../harness/contract/shape.ts';
import { type AgentDeviceRecord, PlatformError } from '../ports.ts';
import { type AgentContext, bearer, body, caller, identifier } from './context.ts';
import { parseDeviceKey } from './keys.ts';

const deviceUpdate = shape('UpdateDeviceRequest', Type.Object({ agent_version: Type.Optional(Type.String()) }));

/** The record as the agent sees it: it never needs its own public key back. */
const answer = ({ public_key_pem: _, ...device }: AgentDeviceRecord) => ({ object: 'device' as const, ...device });

/** Adds the routes to the agent plugin. */
export function deviceRoutes(app: FastifyInstance, context: AgentContext): void {
  const { port, minKeyBits } = context;

  app.post('/devices/provision', async (request) => {
    const token = bearer(request);
    const { name, agent_version, public_key_pem } = body(request, provisionRequest);
    const key = parseDeviceKey(public_key_pem, minKeyBits);
    const named = { name, agent_version, public_key_pem: key.pem, fingerprint: key.fingerprint };
    return answer(port.provision(token, named));
  });

  app.post('/devices/reprovision', async (request) => {
    const token = bearer(request);
    const { agent_version, public_key_pem } = body(request, reprovisionRequest);
    const key = parseDeviceKey(public_key_pem, minKeyBits);
    const device = port.reprovision(token, { agent_version, public_key_pem: key.pem, fingerprint: key.fingerprint });
    context.onSessionEnded(device.id);
    return answer(device);
  });

  app.post('/devices/token', async (request) => {
    const device = context.verifyDeviceJwt(bearer(request));
    context.onSeen(device.id);
    return context.tokens.issue(device);
  });

  app.get('/device', async (request) => answer(caller(context, request)));

  app.patch('/devices/:device_id', async (request) => {
    const device = caller(context, request);
    if (identifier(request, 'device_id') !== device.id) {
      throw new PlatformError(403, 'forbidden', 'a device may update itself only');
    }
    return answer(port.updateDevice(device.id, body(request, deviceUpdate)));
  });
}
