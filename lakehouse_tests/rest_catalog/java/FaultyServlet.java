package org.apache.iceberg.rest;

import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletRequestWrapper;
import jakarta.servlet.http.HttpServletResponse;
import jakarta.servlet.http.HttpServletResponseWrapper;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.apache.iceberg.rest.responses.ErrorResponseParser;
import org.eclipse.jetty.ee10.servlet.ServletContextRequest;

/** Iceberg's servlet, which loses answers, cuts sockets and holds commits when {@link Faults} says so. */
class FaultyServlet extends RESTCatalogServlet {
  private final transient Faults faults;
  private final String prefix;

  FaultyServlet(RESTCatalogAdapter adapter, Faults faults, String prefix) {
    super(adapter);
    this.faults = faults;
    this.prefix = prefix;
  }

  @Override
  protected void service(HttpServletRequest request, HttpServletResponse response) throws IOException {
    HttpServletRequest inner = withoutPrefix(request);
    String commit = inner.getMethod().equals("POST") ? commitKind(inner.getRequestURI()) : null;
    String fault = commit == null ? null : faults.take(commit);
    if (fault == null) {
      serve(inner, response);
    } else if (fault.equals("503")) {
      unavailable(response);
    } else if (fault.equals("cut")) {
      cut(request);
    } else if (fault.equals("hold-then-apply")) {
      if (faults.hold()) {
        serve(inner, response);
      } else {
        unavailable(response);
      }
    } else {
      applyThen(fault, inner, request, response);
    }
  }

  private void applyThen(
      String fault, HttpServletRequest inner, HttpServletRequest request, HttpServletResponse response)
      throws IOException {
    Kept kept = new Kept(response);
    serve(inner, kept);
    if (kept.getStatus() >= 400) {
      response.getWriter().write(kept.text.toString()); // nothing was applied, so there is no answer to lose
    } else if (fault.equals("apply-then-cut")) {
      cut(request);
    } else if (fault.equals("apply-then-hold") && faults.hold()) {
      response.getWriter().write(kept.text.toString());
    } else {
      unavailable(response);
    }
  }

  private void serve(HttpServletRequest request, HttpServletResponse response) throws IOException {
    try {
      super.service(request, response);
    } catch (jakarta.servlet.ServletException e) {
      throw new IOException(e);
    }
  }

  private static String commitKind(String path) {
    if (path.endsWith("/transactions/commit")) {
      return "transaction";
    }
    return path.matches("/v1/namespaces/[^/]+/tables/[^/]+") ? "table" : null;
  }

  private HttpServletRequest withoutPrefix(HttpServletRequest request) {
    return new HttpServletRequestWrapper(request) {
      @Override
      public String getRequestURI() {
        return super.getRequestURI().substring(prefix.length());
      }
    };
  }

  private static void unavailable(HttpServletResponse response) throws IOException {
    response.setStatus(503);
    response.setContentType("application/json");
    ErrorResponse error =
        ErrorResponse.builder()
            .responseCode(503)
            .withType("ServiceUnavailableException")
            .withMessage("A fault that a test asked for")
            .build();
    response.getWriter().write(ErrorResponseParser.toJson(error));
  }

  private static void cut(HttpServletRequest request) {
    ServletContextRequest.getServletContextRequest(request)
        .getConnectionMetaData()
        .getConnection()
        .getEndPoint()
        .close();
  }

  /** Keeps the answer back until it is decided whether the client gets it. */
  private static class Kept extends HttpServletResponseWrapper {
    final StringWriter text = new StringWriter();

    Kept(HttpServletResponse response) {
      super(response);
    }

    @Override
    public PrintWriter getWriter() {
      return new PrintWriter(text, true);
    }
  }
}
