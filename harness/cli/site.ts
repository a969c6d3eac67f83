/** Pages of the site that `fixtures/site` builds: file in Markdown, and address. */

export const requirementPage = ({ api, id }: { api: string; id: string }): string => `requirements/${api}/${id}.md`;

/** Address with an extension, because VitePress takes the end of some ids for one. */
export const addressOf = (page: string): string =>
  `/${page.replace(/(?:index)?\.md$/, (end) => (end === '.md' ? '.html' : ''))}`;

export const addressAt = (homepage: string, page: string): string =>
  `${homepage.replace(/\/+$/, '')}${addressOf(page)}`;
