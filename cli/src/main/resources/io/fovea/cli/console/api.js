export class ApiError extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

// The URL that fovea prints ends with the token. This tab keeps it, and it leaves the address and the history.
const STORED = 'fovea-token';
const START = '#token=';
function keepToken() {
  const found = location.hash.startsWith(START);
  if (found) {
    sessionStorage.setItem(STORED, location.hash.slice(START.length));
    history.replaceState(null, '', location.pathname);
  }
  return found;
}
keepToken();
// Entering the URL in a tab that shows the console already changes only the fragment.
window.addEventListener('hashchange', () => { if (keepToken()) { location.reload(); } });

// Tabs share no tokens, but a tab that is opened by this one gets a copy of its storage.
function another(e) {
  const a = e.target.closest?.('a[href^="#/"]');
  if (a && (e.ctrlKey || e.metaKey || e.shiftKey || e.button === 1)) {
    e.preventDefault();
    window.open(a.href);
  }
}
document.addEventListener('click', another);
document.addEventListener('auxclick', another);

async function respond(method, path, query, body) {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query ?? {})) {
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== null && each !== undefined) {
        parameters.append(name, each);
      }
    }
  }
  const text = parameters.toString();
  const headers = { 'Fovea-Token': sessionStorage.getItem(STORED) ?? '' };
  if (body) {
    headers['Content-Type'] = 'application/json';
  }
  let response;
  try {
    response = await fetch(`api/${path}${text ? '?' + text : ''}`, { method, headers, body: body ? JSON.stringify(body) : undefined });
  } catch (e) {
    throw new ApiError(0, 'The console does not answer: it has ended.');
  }
  if (!response.ok) {
    throw new ApiError(response.status, (await response.json()).error);
  }
  return response;
}

// Replies may arrive in another order than their requests. Each call begins a request; the function
// that it returns tells whether that is still the newest.
export function newest() {
  let last = 0;
  return () => {
    const own = ++last;
    return () => own === last;
  };
}

export const get = async (path, query) => (await respond('GET', path, query)).json();
export const send = async (method, path, body = {}) => (await respond(method, path, null, body)).json();

// Saves a value as a file. A link could not send the token.
export async function download(table, key, column) {
  const url = URL.createObjectURL(await (await respond('GET', 'value', { table, column, key })).blob());
  const a = document.createElement('a');
  a.href = url;
  a.download = 'value.bin';
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 60000);
}
