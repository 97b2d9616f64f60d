package io.fovea.cli.console;

import com.sun.net.httpserver.Headers;
import com.sun.net.httpserver.HttpExchange;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.SecureRandom;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Decides which requests are answered.
 *
 * <pre>
 *   all       Host is one of the console's    otherwise a foreign name resolves to this machine
 *                                             (DNS rebinding)
 *   /api/     the token, in a header          otherwise it is another user of the machine, or a
 *                                             page of another site (request forgery)
 *   /api/     Origin is the console's, for    for the same reason, without relying on the token
 *             all but GET
 * </pre>
 *
 * <p>Only the page's own files need no token: they are the same for all databases.
 *
 * <p><b>Why no cookie.</b> Cookies ignore ports: a browser sends those of a console to every server
 * on the same host, including one that another user of this machine runs on another port. That
 * server would have the token. A cookie name that contains the port or begins with {@code __Host-}
 * does not change this, and {@code __Host-} requires HTTPS. The token is in the fragment of the
 * URL, which browsers do not send. The page keeps it in {@code sessionStorage}, which belongs to
 * one tab and to an origin that includes the port, and sends it in a header. Browsers never add
 * such a header on their own, and a page of another origin may set it only after a preflight
 * request, which is refused here. The header is not {@code Authorization}, which a reverse proxy
 * may use for its own users.
 *
 * <p>Immutable and thread-safe.
 */
final class Access {
  /** The header with the token. */
  static final String HEADER = "Fovea-Token";

  private static final int TOKEN_BYTES = 32;

  private final String token;
  private final String url;
  private final Set<String> hosts = new HashSet<>();
  private final Set<String> origins = new HashSet<>();

  Access(Site site, int port) {
    byte[] random = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(random);
    this.token = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    String scheme = site.tls() == null ? "http" : "https";
    String own = site.name().contains(":") ? "[" + site.name() + "]" : site.name();
    allow(scheme, own + ":" + port);
    if (site.address().getAddress().isLoopbackAddress()) {
      List.of("127.0.0.1", "localhost", "[::1]").forEach(h -> allow(scheme, h + ":" + port));
    }
    URI proxy = site.proxy();
    if (proxy != null) {
      allow(proxy.getScheme(), proxy.getRawAuthority());
    }
    String base = proxy == null ? scheme + "://" + own + ":" + port : proxy.toString();
    this.url = base.replaceFirst("/$", "") + "/#token=" + token;
  }

  /** Browsers leave out the port that is the default of the scheme. */
  private void allow(String scheme, String authority) {
    String host = authority.toLowerCase(Locale.ROOT);
    String port = scheme.equals("https") ? ":443" : ":80";
    if (host.endsWith(port)) {
      allow(scheme, host.substring(0, host.length() - port.length()));
    }
    hosts.add(host);
    origins.add(scheme + "://" + host);
  }

  /** The URL that opens the console, with the token. */
  String url() {
    return url;
  }

  /** Rejects a request with a foreign name of this machine. */
  void requireHost(HttpExchange exchange) {
    String host = exchange.getRequestHeaders().getFirst("Host");
    if (host == null || !hosts.contains(host.toLowerCase(Locale.ROOT))) {
      throw new Failure(421, "this console has another address: use the URL that fovea printed");
    }
  }

  /** Rejects a request from a page of another site. */
  void requireOrigin(HttpExchange exchange) {
    Headers headers = exchange.getRequestHeaders();
    String from = headers.getFirst("Sec-Fetch-Site");
    if (from != null && !from.equals("same-origin") && !from.equals("none")) {
      throw new Failure(403, "the request comes from another site");
    }
    if (exchange.getRequestMethod().equals("GET")) {
      return;
    }
    String origin = headers.getFirst("Origin");
    if (origin == null || !origins.contains(origin.toLowerCase(Locale.ROOT))) {
      throw new Failure(403, "the request comes from another site");
    }
    String type = headers.getFirst("Content-Type");
    if (type == null || !type.equals("application/json")) {
      throw new Failure(415, "the body of the request is not JSON");
    }
  }

  /** Rejects a request without the token. */
  void requireToken(HttpExchange exchange) {
    if (!isToken(exchange.getRequestHeaders().getFirst(HEADER))) {
      throw new Failure(401, "open the URL that fovea printed when it started: it has the token");
    }
  }

  /** Compares in a time that does not depend on the text. */
  private boolean isToken(@Nullable String text) {
    return text != null
        && MessageDigest.isEqual(
            text.getBytes(StandardCharsets.UTF_8), token.getBytes(StandardCharsets.UTF_8));
  }
}
