/** `/deployments`: what a device has to do, and its reports on it. A device sees its own only. */
import type { FastifyInstance } from 'fastify';
import { deploymentReport } from '../../../harness/contract/agent.ts';
import { type AgentContext, body, caller, identifier } from './context.ts';
import { activityFilter, expansions, paging, type Query } from './query.ts';

/** Adds the routes to the agent plugin. */
export function deploymentRoutes(app: FastifyInstance, context: AgentContext): void {
  const { port } = context;

  app.get('/deployments', async (request) => {
    const device = caller(context, request);
    const query = request.query as Query;
    const { limit, offset } = paging(query);
    const expand = expansions(query, ['total_count']);
    const { items, total } = port.deployments(device.id, { activity: activityFilter(query), limit, offset, expand });
    return {
      object: 'list',
      limit,
      offset,
      has_more: offset + items.length < total && items.length > 0,
      ...(expand.includes('total_count') && { total_count: total }),
      data: items,
    };
  });

  app.get('/deployments/:deployment_id', async (request) => {
    const device = caller(context, request);
    return port.deployment(device.id, identifier(request, 'deployment_id'), expansions(request.query as Query));
  });

  app.patch('/deployments/:deployment_id', async (request) => {
    const device = caller(context, request);
    const id = identifier(request, 'deployment_id');
    const expand = expansions(request.query as Query);
    const updated = port.report(device.id, id, body(request, deploymentReport));
    return expand.length === 0 ? updated : port.deployment(device.id, id, expand);
  });
}
