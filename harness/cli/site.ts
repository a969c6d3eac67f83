/** Where the pages of the site are, which `fixtures/site` makes: by a file in Markdown, and by an address. */

export const requirementPage = ({ api, id }: { api: string; id: string }): string => `requirements/${api}/${id}.md`;

/** An extension is always there, because VitePress takes the end of some ids for one. */
export const addressOf = (page: string): string =>
  `/${page.replace(/(?:index)?\.md$/, (end) => (end === '.md' ? '.html' : ''))}`;

/** The address of a page of the site that is served at `homepage`. */
export const addressAt = (homepage: string, page: string): string =>
  `${homepage.replace(/\/+$/, '')}${addressOf(page)}`;
