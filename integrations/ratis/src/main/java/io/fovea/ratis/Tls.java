package io.fovea.ratis;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.CertPathValidatorException;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateFactory;
import java.security.cert.CertificateNotYetValidException;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.HashSet;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import javax.net.ssl.SSLException;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.grpc.GrpcTlsConfig;
import org.jspecify.annotations.Nullable;

/** Validates TLS files before Ratis gets them, and explains TLS failures. */
final class Tls {
  private static final Pattern KEY =
      Pattern.compile("-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\\s]+)-----END PRIVATE KEY-----");

  /** gRPC's message if the other side uses TLS and this side does not. */
  private static final String CLOSED = "Network closed for unknown reason";

  private Tls() {}

  /**
   * Creates the TLS parameters of Ratis.
   *
   * @param certificate the certificate of this side; null for a client without one
   * @param key the key of the certificate; null without a certificate
   * @param authority certificates of the trusted authorities
   * @throws IllegalArgumentException if a file can't be read or has the wrong format
   */
  static Parameters parameters(@Nullable Path certificate, @Nullable Path key, Path authority) {
    certificates(authority);
    boolean mutual = certificate != null && key != null;
    if (certificate != null && key != null) {
      requirePair(certificates(certificate).iterator().next().getPublicKey(), certificate, key);
    }
    Parameters parameters = new Parameters();
    GrpcConfigKeys.TLS.setConf(
        parameters,
        new GrpcTlsConfig(
            key == null ? null : key.toFile(),
            certificate == null ? null : certificate.toFile(),
            authority.toFile(),
            mutual));
    return parameters;
  }

  private static void requirePair(PublicKey of, Path certificate, Path key) {
    Matcher found = KEY.matcher(read(key));
    String algorithm = of.getAlgorithm();
    if (!found.find()) {
      throw noKey(key, algorithm, null);
    }
    String signing =
        switch (algorithm) {
          case "EC" -> "SHA256withECDSA";
          case "RSA" -> "SHA256withRSA";
          default -> null; // the first connection detects a mismatch
        };
    if (signing == null) {
      return;
    }
    try {
      byte[] bytes = Base64.getMimeDecoder().decode(found.group(1));
      Signature s = Signature.getInstance(signing);
      s.initSign(KeyFactory.getInstance(algorithm).generatePrivate(new PKCS8EncodedKeySpec(bytes)));
      s.update(bytes);
      byte[] signed = s.sign();
      s.initVerify(of);
      s.update(bytes);
      if (s.verify(signed)) {
        return;
      }
    } catch (GeneralSecurityException | IllegalArgumentException e) {
      throw noKey(key, algorithm, e);
    }
    throw new IllegalArgumentException(
        "\"" + key + "\" is not the key of the certificate in \"" + certificate + "\".");
  }

  private static IllegalArgumentException noKey(
      Path key, String algorithm, @Nullable Exception cause) {
    return new IllegalArgumentException(
        "\""
            + key
            + "\" has no private key of the certificate's algorithm, "
            + algorithm
            + ", in PKCS #8 and PEM, without a password. \"openssl pkcs8 -topk8 -nocrypt\" converts"
            + " other formats.",
        cause);
  }

  private static String read(Path file) {
    try {
      return Files.readString(file, StandardCharsets.ISO_8859_1);
    } catch (IOException e) {
      throw unreadable(file, e);
    }
  }

  private static Collection<? extends Certificate> certificates(Path file) {
    try (InputStream in = Files.newInputStream(file)) {
      Collection<? extends Certificate> all =
          CertificateFactory.getInstance("X.509").generateCertificates(in);
      if (!all.isEmpty()) {
        return all;
      }
    } catch (IOException e) {
      throw unreadable(file, e);
    } catch (CertificateException e) {
      throw new IllegalArgumentException(
          "\"" + file + "\" has no certificate in PEM: " + e.getMessage() + ".", e);
    }
    throw new IllegalArgumentException("\"" + file + "\" has no certificate in PEM.");
  }

  private static IllegalArgumentException unreadable(Path file, IOException e) {
    String why = e instanceof NoSuchFileException ? "it does not exist" : e.toString();
    return new IllegalArgumentException("\"" + file + "\" can't be read: " + why + ".", e);
  }

  /**
   * Explains what a failure means in terms of TLS.
   *
   * @return the explanation, without a period; null if the failure does not concern TLS
   */
  static @Nullable String trouble(Throwable thrown) {
    Set<Throwable> seen = new HashSet<>();
    String found = null;
    for (Throwable e = thrown; e != null && seen.add(e); e = e.getCause()) {
      String words = String.valueOf(e.getMessage()).toLowerCase(Locale.ROOT);
      if (e instanceof CertificateExpiredException
          || e instanceof CertificateNotYetValidException) {
        return "its certificate is not valid now (" + e.getMessage() + ")";
      }
      if (words.contains("subject alternative")) {
        return "its certificate is not for its address (" + e.getMessage() + ")";
      }
      if (e instanceof CertPathValidatorException || words.contains("certification path")) {
        found = "its certificate is not of an authority that is trusted here";
      } else if (found == null && (words.contains("alert") || words.contains("certificate"))) {
        found = "it does not accept the certificate of this side, or there is none";
      } else if (found == null && words.contains(CLOSED.toLowerCase(Locale.ROOT))) {
        found = "it closed the connection; it may speak TLS, and this side does not";
      } else if (found == null && e instanceof SSLException) {
        found = "the two sides do not agree on TLS (" + e.getMessage() + ")";
      }
    }
    return found;
  }
}
