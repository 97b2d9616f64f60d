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
 *   Host     is one of the console's      otherwise a foreign name resolves to this machine
 *                                         (DNS rebinding)
 *   token    in the URL once, then in     otherwise it is another user of the machine
 *            a cookie
 *   Origin   is the console's, for all    otherwise another site uses the cookie (request
 *            but GET                      forgery); the cookie is SameSite=Strict too
 * </pre>
 *
 * <p>Immutable and thread-safe.
 */
final class Access {
  private static final int TOKEN_BYTES = 32;

  private final String token;
  private final String cookie;
  private final boolean secure;
  private final String url;
  private final Set<String> hosts = new HashSet<>();
  private final Set<String> origins = new HashSet<>();

  Access(Site site, int port) {
    byte[] random = new byte[TOKEN_BYTES];
    new SecureRandom().nextBytes(random);
    this.token = Base64.getUrlEncoder().withoutPadding().encodeToString(random);
    this.cookie = "fovea-" + port; // cookies of all ports of a host are sent to each
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
    this.secure = proxy != null || site.tls() != null;
    String base = proxy == null ? scheme + "://" + own + ":" + port : proxy.toString();
    this.url = base.replaceFirst("/$", "") + "/?token=" + token;
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

  /** Rejects a request without the cookie. */
  void requireCookie(HttpExchange exchange) {
    for (String line : exchange.getRequestHeaders().getOrDefault("Cookie", List.of())) {
      for (String pair : line.split(";")) {
        String[] parts = pair.strip().split("=", 2);
        if (parts.length == 2 && parts[0].equals(cookie) && isToken(parts[1])) {
          return;
        }
      }
    }
    throw new Failure(401, "open the URL that fovea printed when it started: it has the token");
  }

  /** Compares in a time that does not depend on the text. */
  boolean isToken(@Nullable String text) {
    return text != null
        && MessageDigest.isEqual(
            text.getBytes(StandardCharsets.UTF_8), token.getBytes(StandardCharsets.UTF_8));
  }

  /** The header that gives the browser the token. */
  String setCookie() {
    return cookie
        + "="
        + token
        + "; Path=/; HttpOnly; SameSite=Strict"
        + (secure ? "; Secure" : "");
  }
}
