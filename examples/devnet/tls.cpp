#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <boost/asio/ssl/context.hpp>
#include <memory>
#include <stdexcept>

#include "wire.hpp"

namespace rpcroute::devnet {
namespace {

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

constexpr long validity_sec = 24 * 60 * 60;

Certificate self_signed(EVP_PKEY* key) {
  Certificate certificate(X509_new(), &X509_free);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate.get()), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate.get()), -validity_sec);
  X509_gmtime_adj(X509_getm_notAfter(certificate.get()), validity_sec);
  X509_set_pubkey(certificate.get(), key);
  X509_NAME* name = X509_get_subject_name(certificate.get());
  X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, reinterpret_cast<const unsigned char*>("localhost"), -1, -1, 0);
  X509_set_issuer_name(certificate.get(), name);
  if (!X509_sign(certificate.get(), key, EVP_sha256())) throw std::runtime_error("cannot sign a certificate");
  return certificate;
}

}  // namespace

std::unique_ptr<boost::asio::ssl::context> untrusted_tls() {
  auto context = std::make_unique<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
  const Key key(EVP_EC_gen("P-256"), &EVP_PKEY_free);
  if (!key) throw std::runtime_error("cannot make a TLS key");
  SSL_CTX_use_certificate(context->native_handle(), self_signed(key.get()).get());
  SSL_CTX_use_PrivateKey(context->native_handle(), key.get());
  return context;
}

}  // namespace rpcroute::devnet
