<?php

declare(strict_types=1);

namespace Gatehouse\Client;

/** Why a webhook was refused. */
enum WebhookRefusal: string
{
    case MissingHeader = 'missing_header';
    case MalformedHeader = 'malformed_header';
    case TooOld = 'too_old';
    case TooNew = 'too_new';
    case NoMatch = 'no_match';
    case MalformedBody = 'malformed_body';

    public function explanation(): string
    {
        return match ($this) {
            self::MissingHeader => 'The request lacks a header that every webhook has.',
            self::MalformedHeader => 'A header of the webhook is malformed.',
            self::TooOld => 'The webhook is too old: it may be a repeated recording, or the clock of this server is wrong.',
            self::TooNew => 'The webhook is from the future: the clock of this server is probably wrong.',
            self::NoMatch => 'No secret gives this signature: the body was changed, or the secrets are not the current ones.',
            self::MalformedBody => 'The body is not the JSON of a webhook.',
        };
    }
}
